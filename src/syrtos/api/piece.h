#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/resolve.h"
#include "syrtos/search/slots.h"

// A piece of a trial's training, in this process; for the other files of this folder.

namespace syrtos::api {

using TellNews = std::function<void(const search::News&)>;

/// Trains it: goes on with the run that is there, or begins it, and tells of every epoch, those of
/// before too, and of the end. Blocks. Whatever goes wrong is told and not thrown.
void train_piece(const search::Piece& piece, const Surroundings& surroundings, const job::Own& own,
                 const TellNews& tell);

/// A piece as one line of text, for other processes.
std::string to_line(const search::Piece& piece, const job::Own& own);
struct TravelledPiece {
  search::Piece piece;
  job::Own own;
};
/// Throws RequestError: not such a line.
TravelledPiece parse_piece(const nlohmann::json& message);

nlohmann::json to_json(const search::News& news);
/// Throws RequestError: it says nothing of that kind.
search::News parse_news(const nlohmann::json& message);

}  // namespace syrtos::api
