#include "syrtos/ops/recurrence.h"

#include <algorithm>
#include <cmath>

namespace syrtos::ops {

namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// One sequence of a batch: where its numbers of a step lie.
struct Sequence {
  int64_t steps, batch, sample, units, length;
  bool reverse;

  int64_t at(int64_t step, int64_t width) const { return (step * batch + sample) * width; }
  /// The k-th step that is walked.
  int64_t step(int64_t k) const { return reverse ? length - 1 - k : k; }
};

/// weights h + bias of one row.
double recurrent(const RefTensor& weights, const RefTensor& bias, int64_t row,
                 const std::vector<double>& h) {
  double sum = bias[row];
  const auto units = static_cast<int64_t>(h.size());
  for (int64_t k = 0; k < units; ++k) sum += weights[row * units + k] * h[static_cast<size_t>(k)];
  return sum;
}

void walk_rnn(const Sequence& s, bool relu, std::span<const RefTensor> inputs,
              std::span<RefTensor> outputs) {
  std::vector<double> h(static_cast<size_t>(s.units), 0.0);
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t to = s.at(s.step(k), s.units);
    for (int64_t j = 0; j < s.units; ++j) {
      const double sum = inputs[0][to + j] + recurrent(inputs[1], inputs[2], j, h);
      outputs[0][to + j] = relu ? std::max(sum, 0.0) : std::tanh(sum);
    }
    for (int64_t j = 0; j < s.units; ++j) h[static_cast<size_t>(j)] = outputs[0][to + j];
  }
}

void walk_lstm(const Sequence& s, std::span<const RefTensor> inputs, std::span<RefTensor> outputs) {
  std::vector<double> h(static_cast<size_t>(s.units), 0.0);
  std::vector<double> c = h;
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t from = s.at(s.step(k), 4 * s.units);
    const int64_t to = s.at(s.step(k), s.units);
    const int64_t kept = s.at(s.step(k), 5 * s.units);
    for (int64_t j = 0; j < s.units; ++j) {
      const auto sum = [&](int64_t gate) {
        const int64_t row = gate * s.units + j;
        return inputs[0][from + row] + recurrent(inputs[1], inputs[2], row, h);
      };
      const double gates[] = {logistic(sum(0)), logistic(sum(1)), std::tanh(sum(2)),
                              logistic(sum(3))};
      double& cell = c[static_cast<size_t>(j)];
      cell = gates[1] * cell + gates[0] * gates[2];
      outputs[0][to + j] = gates[3] * std::tanh(cell);
      for (int64_t g = 0; g < 4; ++g) outputs[1][kept + g * s.units + j] = gates[g];
      outputs[1][kept + 4 * s.units + j] = cell;
    }
    for (int64_t j = 0; j < s.units; ++j) h[static_cast<size_t>(j)] = outputs[0][to + j];
  }
}

void walk_gru(const Sequence& s, std::span<const RefTensor> inputs, std::span<RefTensor> outputs) {
  std::vector<double> h(static_cast<size_t>(s.units), 0.0);
  for (int64_t k = 0; k < s.length; ++k) {
    const int64_t from = s.at(s.step(k), 3 * s.units);
    const int64_t to = s.at(s.step(k), s.units);
    const int64_t kept = s.at(s.step(k), 4 * s.units);
    for (int64_t j = 0; j < s.units; ++j) {
      const auto own = [&](int64_t gate) { return inputs[0][from + gate * s.units + j]; };
      const auto u = [&](int64_t gate) {
        return recurrent(inputs[1], inputs[2], gate * s.units + j, h);
      };
      const double r = logistic(own(0) + u(0));
      const double z = logistic(own(1) + u(1));
      const double n = std::tanh(own(2) + r * u(2));
      outputs[0][to + j] = (1 - z) * n + z * h[static_cast<size_t>(j)];
      const double all[] = {r, z, n, u(2)};
      for (int64_t g = 0; g < 4; ++g) outputs[1][kept + g * s.units + j] = all[g];
    }
    for (int64_t j = 0; j < s.units; ++j) h[static_cast<size_t>(j)] = outputs[0][to + j];
  }
}

/// What a step back along a sequence reads and writes; `before` is -1 at the first step.
struct StepBack {
  const Sequence& s;
  int64_t step, before;
  const RefTensor& hidden;
  const RefTensor* kept;
  std::span<const double> dh;  ///< of this step's hidden values, all of it
  std::vector<double>& dc;
  std::span<double> diff;       ///< of projected
  std::span<double> recurrent;  ///< of weights h + bias
  std::vector<double>& dh_before;

  double h_before(int64_t j) const { return before < 0 ? 0.0 : hidden[s.at(before, s.units) + j]; }
  double number(int64_t what, int64_t width, int64_t j) const {
    return (*kept)[s.at(step, width * s.units) + what * s.units + j];
  }
};

void back_rnn(const StepBack& b, bool relu, int64_t j) {
  const double h = b.hidden[b.s.at(b.step, b.s.units) + j];
  const double slope = relu ? (h > 0 ? 1.0 : 0.0) : 1 - h * h;
  const auto at = static_cast<size_t>(j);
  b.diff[at] = b.recurrent[at] = b.dh[at] * slope;
}

void back_lstm(const StepBack& b, int64_t j) {
  const auto at = static_cast<size_t>(j);
  const auto units = static_cast<size_t>(b.s.units);
  const double i = b.number(0, 5, j);
  const double f = b.number(1, 5, j);
  const double g = b.number(2, 5, j);
  const double o = b.number(3, 5, j);
  const double t = std::tanh(b.number(4, 5, j));
  const double c_before =
      b.before < 0 ? 0.0 : (*b.kept)[b.s.at(b.before, 5 * b.s.units) + 4 * b.s.units + j];
  const double dc = b.dc[at] + b.dh[at] * o * (1 - t * t);
  const double diff[] = {dc * g * i * (1 - i), dc * c_before * f * (1 - f), dc * i * (1 - g * g),
                         b.dh[at] * t * o * (1 - o)};
  for (size_t k = 0; k < 4; ++k) b.diff[k * units + at] = b.recurrent[k * units + at] = diff[k];
  b.dc[at] = dc * f;
}

void back_gru(const StepBack& b, int64_t j) {
  const auto at = static_cast<size_t>(j);
  const auto units = static_cast<size_t>(b.s.units);
  const double r = b.number(0, 4, j);
  const double z = b.number(1, 4, j);
  const double n = b.number(2, 4, j);
  const double dn = b.dh[at] * (1 - z) * (1 - n * n);
  const double dz = b.dh[at] * (b.h_before(j) - n) * z * (1 - z);
  const double dr = dn * b.number(3, 4, j) * r * (1 - r);
  const double diff[] = {dr, dz, dn};
  const double recurrent[] = {dr, dz, dn * r};
  for (size_t k = 0; k < 3; ++k) {
    b.diff[k * units + at] = diff[k];
    b.recurrent[k * units + at] = recurrent[k];
  }
  b.dh_before[at] += b.dh[at] * z;
}

int64_t length_of(std::span<const RefTensor> inputs, int at, int64_t sample, int64_t steps) {
  return at < 0 ? steps : static_cast<int64_t>(inputs[static_cast<size_t>(at)][sample]);
}

}  // namespace

void Recurrence::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                           const Step& /*step*/) const {
  const Shape& shape = outputs[0].shape;
  for (RefTensor& output : outputs) std::fill(output.values.begin(), output.values.end(), 0.0);
  for (int64_t n = 0; n < shape[1]; ++n) {
    const int64_t length = length_of(inputs, inputs.size() == 4 ? 3 : -1, n, shape[0]);
    const Sequence sequence{shape[0], shape[1], n, shape[2], length, reverse};
    if (kind == RecurrenceKind::lstm) {
      walk_lstm(sequence, inputs, outputs);
    } else if (kind == RecurrenceKind::gru) {
      walk_gru(sequence, inputs, outputs);
    } else {
      walk_rnn(sequence, kind == RecurrenceKind::rnn_relu, inputs, outputs);
    }
  }
}

// Back along each sequence: a step's hidden values have a gradient of their own and one through the
// weights of the step that was walked after it.
void RecurrenceBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                   const Step& /*step*/) const {
  const RefTensor& weights = inputs[0];
  const RefTensor& hidden = inputs[1];
  const RefTensor& diff_hidden = inputs[static_cast<size_t>(diff_at())];
  const int64_t steps = hidden.shape[0];
  const int64_t batch = hidden.shape[1];
  const int64_t units = hidden.shape[2];
  const int64_t rows = weights.shape[0];
  for (RefTensor& output : outputs) std::fill(output.values.begin(), output.values.end(), 0.0);
  for (int64_t n = 0; n < batch; ++n) {
    const int64_t length = length_of(inputs, lengths_at(inputs.size()), n, steps);
    const Sequence s{steps, batch, n, units, length, reverse};
    std::vector<double> dh_before(static_cast<size_t>(units), 0.0);
    std::vector<double> dc = dh_before;
    for (int64_t k = length - 1; k >= 0; --k) {
      const int64_t step = s.step(k);
      std::vector<double> dh = dh_before;
      for (int64_t j = 0; j < units; ++j) {
        dh[static_cast<size_t>(j)] += diff_hidden[s.at(step, units) + j];
      }
      std::fill(dh_before.begin(), dh_before.end(), 0.0);
      std::vector<double> diff(static_cast<size_t>(rows));
      std::vector<double> through = diff;
      const StepBack b{s,
                       step,
                       k == 0 ? -1 : s.step(k - 1),
                       hidden,
                       kept_at() < 0 ? nullptr : &inputs[2],
                       dh,
                       dc,
                       diff,
                       through,
                       dh_before};
      for (int64_t j = 0; j < units; ++j) {
        if (kind == RecurrenceKind::lstm) {
          back_lstm(b, j);
        } else if (kind == RecurrenceKind::gru) {
          back_gru(b, j);
        } else {
          back_rnn(b, kind == RecurrenceKind::rnn_relu, j);
        }
      }
      for (int64_t row = 0; row < rows; ++row) {
        const double d = through[static_cast<size_t>(row)];
        outputs[0][s.at(step, rows) + row] = diff[static_cast<size_t>(row)];
        outputs[2][row] += d;
        for (int64_t j = 0; j < units; ++j) {
          outputs[1][row * units + j] += d * b.h_before(j);
          dh_before[static_cast<size_t>(j)] += d * weights[row * units + j];
        }
      }
    }
  }
}

}  // namespace syrtos::ops
