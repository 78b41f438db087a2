//! The long help of each command: one sentence and examples before the options, details after them.

/// `regatta -h`: what people do every day.
pub(super) const DAILY: &str = "\
Fans out many tasks over one git repository, and lands their work

Usage: regatta [OPTIONS] [PROMPT]…
       regatta [OPTIONS] <COMMAND>

Work:
  regatta                    a conversation; --continue, --resume, --model MODEL
  regatta -p PROMPT          one answer, which is printed
  regatta run PROMPT…        a task for each prompt, in its own copy
  regatta run --exec CMD     a command; --each 'src/**/*.rs' for each file
  regatta demo               eight tasks on a sample repository, offline

After a run:
  regatta runs               list runs; runs show RUN, runs retry RUN
  regatta results, logs      what tasks yielded, and what they printed
  regatta why                why a task waits, or how it ended
  regatta diff, conflicts    their work as a patch, and what could not land
  regatta apply, undo        land kept work, or take landed work back
  regatta models, login      the models, and the keys of their providers

Options of every command: --repo DIR, --json, -q, -v, --color, --progress
--help lists all commands and session options; regatta COMMAND -h those of one
";

pub(super) const ROOT: &str = "\
Fans out many tasks over one git repository, each in its own isolated copy,
and lands their work.

Examples:
  regatta demo                      a demonstration, offline, in a few seconds
  regatta run --model ollama/qwen3:8b 'fix the tests' 'write the docs'
  regatta run --each 'src/**/*.rs' --exec 'rustfmt --edition 2021 {{item}}'
  regatta run --plan plan.toml
  regatta runs
  regatta                           a conversation: regatta launch --help
  regatta -p 'explain the build'    an answer
  regatta help exit-codes";

pub(super) const LAUNCH: &str = "\
Opens a session that works in this folder, in place: a conversation on the
terminal, or with -p the answer to a prompt.

Examples:
  regatta                              a conversation; /help lists its keys
  regatta 'why does the test fail?'    one that begins with a prompt
  regatta --continue                   the latest session of this folder
  regatta --resume                     a session that is chosen from a list
  git diff | regatta -p 'review this change'
  regatta -p @notes.md 'what is missing here?'
  regatta -p --model sonnet:high --tools read 'where is the bug?'
  regatta -p --mode json 'fix the failing test' | jq -c .type";

pub(super) const DEMO: &str = "\
Runs eight tasks on a small sample repository, offline, and shows what landed.

Examples:
  regatta demo
  regatta demo --keep /tmp/sample     leave the repository there, to look at it";

pub(super) const MODELS: &str = "\
Lists the models that can be used, with their limits, abilities and prices,
and why others cannot.

Examples:
  regatta models                 those with a key, and of servers here
  regatta models opus            with opus in their name
  regatta models 'openai/*' --all
  regatta models --json
  regatta models refresh         newer facts, from models.dev

Prices are in US dollars per million tokens; ? is an unknown value. The
catalogue comes with Regatta; the file models.yml in the folder of the
settings adds providers and models (docs/models.md).";

pub(super) const GATES: &str = "\
Shows the provider accounts that engines have used since the machine was
started.

Examples:
  regatta gates
  regatta gates --json

For each account: how many requests are in use and allowed, how many wait, and
until when and why no request is sent. All engines of a user share these
limits. An account is an address and a key; the key is named by its source,
and never shown.";

pub(super) const TRUST: &str = "\
Shows which settings of .regatta/config.yml at the root of the repository run
commands or allow more than your own settings, and which MCP servers of its
files would start, and asks whether you trust them.

Examples:
  regatta trust
  regatta trust --yes
  regatta trust --list
  regatta trust --revoke
  regatta trust --revoke isolation.setup 'bash(make *)'
  regatta trust --revoke mcp.github

Such settings and servers have no effect until you trust them, and none after a
change of their value or of a file that they run. The other settings need no
trust. --list and --revoke include the rules that you have made with `always`
(docs/approvals.md).";

pub(super) const CONFIG: &str = "\
Lists the settings with their values, and the origin of each value that is not
a default.

Examples:
  regatta config
  regatta config limits
  regatta config approvals.mode --json

Later ones take precedence: the defaults, config.yml in the folder of the
settings, .regatta/config.yml of the repository, variables such as
REGATTA_LIMITS_WALL, options. To change a setting, edit one of the files.";

pub(super) const MODELS_REFRESH: &str = "\
Fetches newer facts about models from models.dev, or reads them from a file in
the same form.

Examples:
  regatta models refresh
  regatta models refresh --from api.json

It reads limits, prices and abilities, never an address, a header or a
command. No other command of Regatta fetches them.";

pub(super) const LOGIN: &str = "\
Stores the API key of a provider, or the tokens of a login there, in auth.json
in the folder of the settings, which only you can read.

Examples:
  regatta login anthropic              asks for the key, and does not show it
  pass show openai | regatta login openai
  regatta login openai --as work       a second key
  regatta login openrouter             in a browser
  regatta login gate --device          by a code that is typed on another device

OpenRouter and the providers with `oauth` in models.yml (docs/models.md) have
a login. Its address is printed, and opened on a desktop. Without a desktop,
open it on another machine, and paste the last address of that browser.

A run uses the first of: --api-key, the stored key, the environment
(ANTHROPIC_API_KEY …), and the apiKey in models.yml. Of several stored keys,
the first is used.";

pub(super) const LOGOUT: &str = "\
Removes the stored API keys of a provider, or one of them.

Examples:
  regatta logout anthropic
  regatta logout openai --as work";

pub(super) const RUNS: &str = "\
Lists the runs over this repository, or shows one of them.

Examples:
  regatta runs
  regatta runs --all           all runs, not only the latest 20
  regatta runs show            the latest run
  regatta runs show r7k3f --json
  regatta runs show --timing   where the time went
  regatta runs retry r7k3f     the tasks that failed or were cancelled";

pub(super) const SHOW: &str = "\
Shows one run and its tasks, or how long the phases of its tasks took.

Examples:
  regatta runs show                   the latest run
  regatta runs show r7k3f auth        one task of it
  regatta runs show r7k3f --timing    where the time went
  regatta runs show --timing --json

The phases of --timing: waiting (for the task's turn and for the tasks it
depends on), prepare (its copy of the tree is made), setup, work, capture,
verify and landing (of the whole run), discard (its copy is made ready for
another task, or removed), ledger (until the ledger is durable), launcher
(starting commands, a part of the work). Each has the sum over all tasks,
which ran at the same time, the median, and the time that 95 of 100 tasks did
not exceed.";

pub(super) const RETRY: &str = "\
Starts a new run of tasks of an earlier run that failed or were cancelled.

Examples:
  regatta runs retry                        the latest run
  regatta runs retry r7k3f --cancelled
  regatta runs retry r7k3f auth billing     these tasks, however they ended
  regatta runs retry r7k3f --failed --model ollama/qwen3:32b --limit wall=1h
  regatta runs retry r7k3f --failed --exec 'eslint --fix {{item}}'";

pub(super) const RETRY_DETAILS: &str = "\
The tasks have the prompts, commands, models, limits and settings of the run,
from the ledger; later changes of the plan have no effect. They work on the
current tree. A dependency that is not retried must be done, with its work in
the tree; the tasks get its yield. Work that the earlier run kept stays kept.
--model replaces the model of tasks, --exec the command of tasks without a
model, and --limit a limit of all.";

pub(super) const RESULTS: &str = "\
Prints what the tasks of a run yielded: the answers of models, the last lines
of commands.

Examples:
  regatta results                 every task of the latest run
  regatta results r7k3f/auth      the whole answer of one task
  regatta results @ src/auth.rs   the same, by its item
  regatta results @ --only failed
  regatta run --each '*.rs' --model ollama/qwen3:8b --schema finding.json \\
      'Review {{item}}.' \\
    && regatta results @ --jsonl | jq -r '.item + \": \" + .yield.finding'";

pub(super) const RESULTS_DETAILS: &str = "\
Targets:
  RUN        a run, by its name or the beginning of it; @ is the latest
  RUN/TASK   a task of a run, by its name or its item; also RUN TASK
  TASK       a task of the latest run

JSON:
  --json prints one array, --jsonl one object per line, in the order of the
  tasks. An object has the fields id, name, item (with --chunk: items),
  outcome, failure, yield, changes and usage; a field that does not apply is
  null. Unlike the text, they include tasks without a yield.";

pub(super) const LOGS: &str = "\
Shows the session of each task, or the output of its command, or a session of
`regatta -p`.

Examples:
  regatta logs                 every task of the latest run
  regatta logs r7k3f/auth
  regatta logs 019b7cc9        a session, by the beginning of its id
  regatta logs --follow        new lines, too, until all tasks have ended
  regatta logs 019b7cc9 -f     new lines, too, until the session is closed
  regatta logs r7k3f/auth --json";

pub(super) const DIFF: &str = "\
Shows the captured work of tasks as a patch.

Examples:
  regatta diff --stat          the files of every task of the latest run
  regatta diff @ src/auth.rs   one task, by its item
  regatta diff r7k3f/auth | git apply --3way    git add those files first";

pub(super) const CONFLICTS: &str = "\
Lists the work of a run that could not land, and why, with the lines that both
sides changed.

Examples:
  regatta conflicts
  regatta conflicts r7k3f/auth
  regatta conflicts r7k3f --json";

pub(super) const APPLY: &str = "\
Lands kept work: of one task, or of every task of a run that is done.

Examples:
  regatta apply r7k3f/auth r7k3f/api
  regatta apply r7k3f --dry-run
  regatta apply r7k3f --again     after git reset --hard
  regatta apply r7k3f/auth --theirs src/auth.rs --union src/lib.rs
  regatta apply r7k3f/auth --clean
  regatta apply r7k3f/auth --resolve agent:anthropic/claude-sonnet-4
  regatta apply r7k3f/auth --branch auth && git merge auth";

pub(super) const SHOW_SIDE: &str = "\
Prints one side of a conflict: unchanged into a pipe, in printable form on a
terminal.

Examples:
  regatta show r7k3f/auth:src/auth.rs --theirs
  regatta show r7k3f/auth:src/auth.rs --base > base.rs";

pub(super) const APPLY_DETAILS: &str = "\
The work of a task lands whole or not at all. The work of a failed task lands
only if that task is named.

Conflicts of one task:
  As in git merge, ours is the version in your tree or, where the run lands on
  branches, on the branch; theirs is the version of the task. On branches,
  settled work becomes a commit.
  --ours       the file stays as it is in your tree, as with git checkout
               --ours
  --theirs     the file becomes that of the task, as with git checkout
               --theirs
  --union      where both changed lines, both versions stay, ours first, as
               git merge-file --union
  --markers    the file gets git's conflict markers, as git merge leaves it;
               never on branches
  --tool       the merge.tool of your own git configuration writes it, never
               that of the repository
  --resolve    a command, or with agent or agent:MODEL a model, writes it;
               a part of each side must remain, unless --allow-loss
  --clean      the paths without a conflict land now; the rest stays kept
  --index      with --markers: the index becomes what git merge would make of
               it
  Each option applies to the paths after it; a folder includes everything
  below it. Without a path, it applies to all conflicts that no other option
  names. Name the run or task before the options. A path is relative to the
  root of the repository, as regatta conflicts prints it.";

pub(super) const UNDO: &str = "\
Takes back the landed work of a run, or of some of its tasks: each file gets
its earlier content.

Examples:
  regatta undo                 the latest run
  regatta undo r7k3f/auth
  regatta undo @ --dry-run";

pub(super) const UNDO_DETAILS: &str = "\
Later edits, by you or by a later run, are merged, as git revert does. A file
with a conflict stays as it is, and is reported; the exit code is then 4. A
branch with later commits stays, too. Your commits stay: files change in the
working tree only. Commits of the run are removed from their branch.

The work is kept, and regatta apply RUN --again lands it again.";

pub(super) const DISCARD: &str = "\
Removes the captured work of one task, or of every task of a run.

Examples:
  regatta discard r7k3f/auth
  regatta discard @ --dry-run";

pub(super) const DISCARD_DETAILS: &str = "\
Landed work stays. Work that has not landed is lost.";

pub(super) const GC: &str = "\
Removes old captures, logs and outputs of all repositories, and compacts the
task stores.

Examples:
  regatta gc --dry-run
  regatta gc --older-than 7d
  regatta gc --keep-size 2GB --json";

pub(super) const GC_DETAILS: &str = "\
It removes only work that has landed, was discarded or changed nothing. Work
that has neither landed nor been discarded stays, whatever its age, with the
work that it builds on. So does everything of a run that still runs or has a
workspace on the disk. The ledger keeps the records of runs and tasks. `--repo
DIR` limits it to one repository. Nothing runs it automatically.";

pub(super) const SCHEMA: &str = "\
Prints a published JSON Schema.

Examples:
  regatta schema plan > plan.schema.json";

pub(super) const COMPLETIONS: &str = "\
Prints a script that completes command lines of regatta in a shell.

Examples:
  regatta completions bash > ~/.local/share/bash-completion/completions/regatta
  regatta completions zsh > \"${fpath[1]}/_regatta\"
  regatta completions fish > ~/.config/fish/completions/regatta.fish";

pub(super) const MAN: &str = "\
Prints the manual page of the program or of a command, for man(1).

Examples:
  regatta man | man -l -
  regatta man run > regatta-run.1";

pub(super) const HELP: &str = "\
Explains a command or a topic.

Examples:
  regatta help run
  regatta help exit-codes";

/// The part of the help that explains the argument `RUN[/TASK]`, for the commands that take one.
pub(super) const TARGET_DETAILS: &str = "\
Targets:
  RUN        a run, by its name or the beginning of it; @ is the latest
  RUN/TASK   a task of a run, by its name or its item; also RUN TASK
  TASK       a task of the latest run";

/// Returns an example of each kind of run, for an error about a command line without a task.
pub(crate) fn no_task() -> [&'static str; 4] {
    [
        "regatta run --model PROVIDER/ID 'fix the failing tests'",
        "regatta run --exec 'make docs'",
        "regatta run --each 'src/**/*.rs' --exec 'rustfmt --edition 2021 {{item}}'",
        "regatta run --plan plan.toml",
    ]
}
