#pragma once

namespace syrtos::cli {

/// From now on Ctrl-C (SIGINT), SIGTERM and SIGHUP (unless it is ignored, as nohup does) only ask
/// for an end in good order. One that comes more than a second later ends the program at once, and
/// SIGTERM and SIGHUP do so anyway when it takes longer than a minute; both say so.
void catch_interrupts();
bool interrupted();
/// What the program returns then: 128 and the signal.
int interrupt_code();

/// From now on output that nobody reads any more (a closed pipe) does not end the program.
void outlive_readers();

}  // namespace syrtos::cli
