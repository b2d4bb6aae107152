#include "client/cli/completion.h"
#include "client/cli/flags.h"
#include "client/cli/output.h"
#include "client/verbs/verbs.h"

namespace seraph {
namespace {

class CompletionVerb final : public Verb {
 public:
  std::string name() const override { return "completion"; }
  std::string summary() const override {
    return "Prints a completion script for a shell.";
  }
  std::string examples() const override {
    return "  source <(seraphctl completion bash)\n"
           "  seraphctl completion zsh > ~/.zfunc/_seraphctl\n"
           "  seraphctl completion fish > "
           "~/.config/fish/completions/seraphctl.fish\n";
  }
  void Define(CLI::App* app) override {
    AddChoice(app, "SHELL", {"bash", "zsh", "fish"}, &shell_, "The shell.")
        ->required();
    app_ = app;
  }

  absl::Status Run(const GlobalOptions& options,
                   const Environment& env) override {
    const Shell shell = shell_ == "bash"  ? Shell::kBash
                        : shell_ == "zsh" ? Shell::kZsh
                                          : Shell::kFish;
    return PrintText(env, CompletionScript(*app_->get_parent(), shell));
  }

 private:
  CLI::App* app_ = nullptr;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> MakeCompletionVerb() {
  return std::make_unique<CompletionVerb>();
}

}  // namespace seraph
