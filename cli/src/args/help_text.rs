//! The long help of each command: examples first, then details.

pub(super) const ROOT: &str = "\
Examples:
  regatta demo                                       what it is, in a few seconds
  regatta run --model ollama/qwen3:8b 'fix the failing tests' 'write the missing docs'
  regatta run --each 'src/**/*.rs' --exec 'rustfmt {{item}}'
  regatta run --plan plan.toml
  regatta runs
  regatta help exit-codes";

pub(super) const DEMO: &str = "\
Examples:
  regatta demo
  regatta demo --keep /tmp/sample     leave the repository there, to look at it";

pub(super) const RUN: &str = "\
Tasks come from one of: TASK words (one task each), a TASK with --each (one task per item), --exec
alone (one task), --exec with TASK words (one task each), --exec with --each (one task per item), or
--plan.

A model does the work of a TASK, with tools to read, write and edit files and to run commands. It is
the one of --model, else of the plan, else of the setting modelRoles.default. Keys are taken from
the environment (OPENAI_API_KEY, OPENROUTER_API_KEY …) and not given to what a task runs, unless
--pass-env names them; a server at --base-url gets REGATTA_API_KEY, if that is set. offline/FILE
plays a scenario (docs/scenarios.md).

With --each, the TASK and the command of --exec can have placeholders: {{item}} is the item,
{{item.stem}} its file name without the last extension, {{item.dir}} its folder, {{index}} its
number from 1, and {{items}} all items of the task. In a TASK they are plain text, and \\{{ is two
braces. In a command the shell never reads a name as anything but a name: an item of other
characters than letters, digits and _./,:=@%+- is put in as a variable that is in quotes. The same
values are in the environment as REGATTA_ITEM, REGATTA_ITEM_STEM and REGATTA_ITEM_DIR. An item of
--each that begins with - gets ./ before it. Write {''{ where the shell is to see two braces.

The last line that a command writes to standard output is what it yields, as JSON where it is.

Examples:
  regatta run --model ollama/qwen3:8b 'fix the failing tests' 'write the missing docs'
  regatta run --each 'src/*.py' --model openrouter/MODEL 'Add type hints to {{item}}.'
  regatta run --model local/MODEL --base-url http://127.0.0.1:8080/v1 'explain the build'
  regatta run --exec 'make docs'
  regatta run --exec './translate {{item}}' German French Finnish
  regatta run --each 'src/**/*.py' --exec 'ruff check --fix {{item}}'
  git ls-files -z '*.md' | regatta run --each - --null --chunk 20 --exec 'fmt.sh {{items}}'
  regatta run --pass-env ANTHROPIC_API_KEY \\
      --exec 'claude -p {{item}} --permission-mode acceptEdits' 'fix the docs' 'fix the tests'
  regatta run --plan plan.toml --dry-run
  regatta run --each 'src/*.c' --exec 'clang-format -i {{item}}' --merge branch";

pub(super) const RUNS: &str = "\
Examples:
  regatta runs
  regatta runs show            the latest
  regatta runs show r7k3f --json";

pub(super) const LOGS: &str = "\
Examples:
  regatta logs                 every task of the latest run
  regatta logs r7k3f/auth
  regatta logs r7k3f/auth --json";

pub(super) const DIFF: &str = "\
Examples:
  regatta diff                 the latest run
  regatta diff r7k3f/auth | git apply --3way";

pub(super) const CONFLICTS: &str = "\
Examples:
  regatta conflicts
  regatta conflicts r7k3f --json";

pub(super) const APPLY: &str = "\
Examples:
  regatta apply r7k3f/auth
  regatta apply r7k3f --dry-run";

pub(super) const DISCARD: &str = "\
Examples:
  regatta discard r7k3f/auth
  regatta discard @ --dry-run";

pub(super) const SCHEMA: &str = "\
Examples:
  regatta schema plan > plan.schema.json";

pub(super) const HELP: &str = "\
Examples:
  regatta help run
  regatta help exit-codes";

/// Returns an example of each kind of run, for an error about a command line without a task.
pub(crate) fn no_task() -> [&'static str; 4] {
    [
        "regatta run --model PROVIDER/ID 'fix the failing tests'",
        "regatta run --exec 'make docs'",
        "regatta run --each 'src/**/*.rs' --exec 'rustfmt {{item}}'",
        "regatta run --plan plan.toml",
    ]
}
