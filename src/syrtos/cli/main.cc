#include "syrtos/cli/command.h"

int main(int argc, char** argv) { return syrtos::cli::run(argc, argv); }
