#pragma once

namespace syrtos::cli {

/// From now on Ctrl-C (SIGINT) and SIGTERM only set a flag; a second one ends the program at once.
void catch_interrupts();
bool interrupted();

}  // namespace syrtos::cli
