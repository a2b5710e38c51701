#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace syrtos::cli {

/// An option or argument of a command; a handle that is valid as long as its Parser.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& type_name(const std::string& name);  ///< what help shows as its value
  Option& show_default();                      ///< the variable's value now, in help
  Option& group(const std::string& heading);   ///< under this heading in help
  Option& hidden();                            ///< not in help
  Option& values(int least, int most);         ///< how many it takes; 0: alone, it means "true"
  Option& alone_means(const std::string& text);
  Option& take_all();               ///< of the values given; otherwise the last one counts
  Option& delimiter(char between);  ///< splits one word into values
  Option& positive();
  Option& range(int64_t least, int64_t most);

 private:
  CLI::Option* option_;
};

/// A command or the program itself; a handle that is valid as long as its Parser. Variables that
/// options write to must outlive the parsing.
class Command {
 public:
  explicit Command(CLI::App* app) : app_(app) {}

  Command add_subcommand(const std::string& name, const std::string& help);
  void hidden();  ///< not in help

  // Names with dashes are options, others positional arguments.
  Option add_option(const std::string& name, std::string& to, const std::string& help = "");
  Option add_option(const std::string& name, std::filesystem::path& to,
                    const std::string& help = "");
  Option add_option(const std::string& name, int& to, const std::string& help = "");
  Option add_option(const std::string& name, int64_t& to, const std::string& help = "");
  Option add_option(const std::string& name, size_t& to, const std::string& help = "");
  Option add_option(const std::string& name, double& to, const std::string& help = "");
  Option add_option(const std::string& name, std::vector<std::string>& to,
                    const std::string& help = "");
  Option add_option(const std::string& name, std::vector<int64_t>& to,
                    const std::string& help = "");
  Option add_option(const std::string& name, std::function<void(const std::string&)> to,
                    const std::string& help = "");
  Option add_flag(const std::string& name, bool& to, const std::string& help = "");

  void require_subcommand(size_t least, size_t most);
  void footer(const std::string& text);              ///< below the options in help
  void callback(std::function<void()> when_chosen);  ///< called at the end of parsing
  bool has_chosen_subcommand() const;                ///< after parsing
  bool given(const std::string& option) const;       ///< after parsing

 private:
  CLI::App* app_;
};

/// The program's command line. Only parser.cc knows the library behind it, which takes seconds to
/// compile in every file that includes it.
class Parser {
 public:
  Parser(const std::string& name, const std::string& description,
         std::function<std::string()> version);
  ~Parser();
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Command program();

  /// Adds a flag that counts how often it is given, or takes a number, to every command.
  void add_counter_everywhere(const std::string& name, int& to, const std::string& help);

  /// False: help or the version was asked for and printed. Throws RequestError.
  bool parse(int argc, const char* const* argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace syrtos::cli
