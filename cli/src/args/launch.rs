//! The options of a session: `regatta [PROMPT…]`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{ArgAction, Args, ValueEnum};
use engine::ports::SessionPurpose;
use protocol::{ApprovalMode, ThinkingLevel};
use tools::Builtins;

use super::approval_mode::approval_mode;
use super::{GivenKey, IsolationChoice, ModelsArgs};
use regatta::model::{BaseUrl, ModelChoice};
use regatta::session::HomeWork;

/// The arguments of a session.
#[derive(Args, Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct LaunchArgs {
    /// A prompt, in quotes; @FILE includes a file
    ///
    /// Several prompts are answered one after another.
    #[arg(value_name = "PROMPT")]
    pub prompts: Vec<OsString>,

    /// Print the answer to the last prompt, and end
    #[arg(short, long, action = ArgAction::SetTrue)]
    pub(crate) print: bool,

    /// What is printed: text (the last answer), json (one event per line)
    #[arg(long, value_name = "MODE")]
    pub mode: Option<OutputMode>,

    /// The model: sonnet, PROVIDER/ID, ID:high
    ///
    /// PROVIDER/ID, an id, a family such as sonnet (its newest model with a key), a part of a name, or one
    /// of the roles default, smol, slow and plan. A thinking level may follow, as in ID:high.
    #[arg(long, value_name = "MODEL")]
    pub model: Option<ModelChoice>,

    /// The provider of --model, if MODEL does not name it
    #[arg(long, value_name = "NAME", requires = "model")]
    pub provider: Option<String>,

    /// The models that the session may use, separated by commas
    ///
    /// PROVIDER/ID, ids, parts of names or globs. A thinking level may follow each, as in ID:high. A new
    /// session begins with the first.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub models: Option<Vec<String>>,

    /// How much the model thinks: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<ThinkingLevel>,

    /// The API key of the model's provider, for this session
    ///
    /// Other users can see it in the list of processes. `regatta login` stores it instead.
    #[arg(long, value_name = "KEY")]
    pub api_key: Option<GivenKey>,

    /// The URL of the model's provider, if it is not the usual one
    #[arg(long, value_name = "URL")]
    pub base_url: Option<BaseUrl>,

    /// The names of the tools that the model may use
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = PossibleValuesParser::new(tool_names()),
        help = format!(
            "The tools of the model, separated by commas: {} [default: all]",
            tool_names().join(", ")
        )
    )]
    pub tools: Option<Vec<String>>,

    /// Give the model no tools, or only those of --tools
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) no_tools: bool,

    /// Which tool calls need your approval: ask, write, yolo [default: ask; yolo with --isolated]
    ///
    /// ask: changes of files, and commands. write: commands. yolo: none. Without a terminal, these calls are
    /// refused. The settings can have rules: docs/approvals.md.
    #[arg(long, value_name = "MODE", value_parser = approval_mode())]
    pub approval_mode: Option<ApprovalMode>,

    /// Run a command at each question and at the end of each turn
    ///
    /// It gets a JSON object on its standard input: docs/notifications.md. The setting `notify` has commands for
    /// every session.
    #[arg(long, value_name = "CMD", value_parser = NonEmptyStringValueParser::new())]
    pub notify: Option<String>,

    /// Replace the system prompt by this text or file
    #[arg(long, value_name = "TEXT|FILE")]
    pub system_prompt: Option<String>,

    /// Append this text or file to the system prompt
    #[arg(long, value_name = "TEXT|FILE")]
    pub append_system_prompt: Option<String>,

    /// Leave AGENTS.md and CLAUDE.md out of the system prompt
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) no_context_files: bool,

    /// Continue the latest session of this folder
    ///
    /// Of several, the one that this terminal used last.
    #[arg(short, long = "continue", action = ArgAction::SetTrue, conflicts_with_all = ["resume", "fork"])]
    pub(crate) continues: bool,

    /// Continue a session, by its file or the beginning of its id
    ///
    /// Without a value, the sessions are listed; in a terminal, one is chosen from the list.
    #[arg(
        short,
        long,
        visible_alias = "session",
        value_name = "ID|FILE",
        num_args = 0..=1,
        conflicts_with = "fork"
    )]
    #[expect(clippy::option_option, reason = "an option whose value can be left out")]
    pub(crate) resume: Option<Option<String>>,

    /// Continue a copy of a session, also of another folder
    #[arg(long, value_name = "ID|FILE")]
    pub fork: Option<String>,

    /// Keep the session in memory only
    #[arg(
        long,
        action = ArgAction::SetTrue,
        conflicts_with_all = ["continues", "resume", "fork", "session_dir"]
    )]
    pub(crate) no_session: bool,

    /// The folder of session files [default: one per working folder, in the data folder]
    #[arg(long, value_name = "DIR")]
    pub session_dir: Option<PathBuf>,

    /// List the models that can be used, and end
    ///
    /// With PATTERN, only models with it in their name. Nothing is sent to a model.
    #[arg(long, value_name = "PATTERN", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "an option whose value can be left out")]
    pub(crate) list_models: Option<Option<String>>,

    /// Work in a copy of the repository: nothing lands before /land
    ///
    /// /diff shows the work, /discard throws it away. Work that has not landed is kept, as that of a run:
    /// `regatta runs` lists it.
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) isolated: bool,

    /// How --isolated makes the copy: auto, worktree
    #[arg(long, value_name = "MODE", requires = "isolated")]
    pub isolation: Option<IsolationChoice>,

    /// Work in the home folder or `/` itself, not in a private folder
    #[arg(long, action = ArgAction::SetTrue)]
    pub(crate) allow_home: bool,
}

/// The value of `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputMode {
    /// The text of the last answer.
    Text,
    /// One event per line.
    Json,
}

/// Returns the names of the tools that a conversation has.
fn tool_names() -> Vec<&'static str> {
    let mut names = Builtins::names(SessionPurpose::Conversation);
    if cfg!(feature = "syntax") {
        names.extend(Builtins::syntax_names());
    }
    names
}

impl LaunchArgs {
    /// Returns the names of the tools that the model may use; `None` if it may use every tool.
    #[must_use]
    pub fn allowed_tools(&self) -> Option<BTreeSet<String>> {
        let none = self.no_tools.then(BTreeSet::new);
        self.tools.as_ref().map(|names| names.iter().cloned().collect()).or(none)
    }

    /// Returns whether the model has tools.
    #[must_use]
    pub(crate) fn has_tools(&self) -> bool {
        self.allowed_tools().is_none_or(|names| !names.is_empty())
    }

    /// Returns the arguments of the list of models, if that is all that is asked for.
    #[must_use]
    pub fn listed_models(&self) -> Option<ModelsArgs> {
        self.list_models.clone().map(ModelsArgs::of_usable)
    }

    /// Returns whether a session that begins in the user's home works there.
    #[must_use]
    pub(crate) fn home_work(&self) -> HomeWork {
        if self.allow_home { HomeWork::Allowed } else { HomeWork::Elsewhere }
    }

    /// Returns whether the command line says that the session prints an answer and ends.
    #[must_use]
    pub fn is_print(&self) -> bool {
        self.print || self.mode.is_some()
    }
}
