//! The long help of `regatta run`.

pub(super) const RUN: &str = "\
Runs tasks over this repository, each in its own copy, and lands their work.

Examples:
  regatta run --model ollama/qwen3:8b 'fix the tests' 'write the docs'
  regatta run --each 'src/*.py' --model sonnet 'Add type hints to {{item}}.'
  regatta run --model local/M --base-url http://127.0.0.1:8080/v1 'fix it'
  regatta run --exec 'make docs'
  regatta run --exec './translate {{item}}' German French Finnish
  regatta run --each 'src/**/*.py' --exec 'ruff check --fix {{item}}'
  git ls-files -z | regatta run --each - --null --chunk 9 --exec 'fmt {{items}}'
  regatta run --pass-env ANTHROPIC_API_KEY 'fix the docs' 'fix the tests' \\
      --exec 'claude -p {{item}} --permission-mode acceptEdits \\
              --setting-sources user --strict-mcp-config'
  regatta run --setup 'npm ci' --carry .env --each 'test/*.js' \\
      --exec 'npx mocha {{item}}'
  regatta run --label v2 'auth=Test src/auth.rs.' 'fix the docs'
  regatta run --plan plan.toml --dry-run
  generate-plan | regatta run --plan -           also in JSON or YAML
  regatta run --plan plan.toml --resolve './resolve.sh'
  regatta run --plan plan.toml --resolve agent:slow
  regatta run --each 'src/*.c' --exec 'clang-format -i {{item}}' --merge branch
  regatta run --plan plan.toml --merge stack    one branch, a commit per task
  regatta run --plan plan.toml --onto main      commits on main, with your files
  regatta run --plan plan.toml --land eager     each task lands as it ends
  regatta run --plan plan.toml --verify 'cargo test'    lands only what passes";

pub(super) const RUN_DETAILS: &str = "\
Where tasks come from:
  TASK…                   one task per TASK, done by a model
  TASK --each SPEC        one task per item, done by a model
  --exec CMD              one task, done by a command
  --exec CMD TASK…        one task per TASK, done by a command
  --exec CMD --each SPEC  one task per item, done by a command
  --plan FILE             the tasks of a plan, in TOML, JSON or YAML

How tasks are named:
  By the item, or the first words of the TASK: write-tests-for-lib, and
  write-tests-for-lib-2. NAME=TASK names the TASK of a model; with --exec, a
  TASK is passed unchanged. --name NAME names the only task. A NAME has
  lower-case letters, digits and -. DEBUG=1 fails and n=2 is wrong are
  prompts: a NAME has no capitals, and no digit follows its =. A blank before
  NAME= makes it a part of the prompt. `t2` is the second task, unless a task
  of the run has a name like t1.

Models:
  A model has tools to read, write and edit files and to run commands. The
  model is the first of: --model, the model of the plan, the setting
  modelRoles.default, the default of the only provider with a key, the only
  model of a server on this machine. `regatta models` lists them. A thinking
  level may follow it, as in anthropic/claude-sonnet-4-5:high.
  offline/FILE is a scripted model (docs/scenarios.md). Keys are stored by
  `regatta login`, or read from the environment (ANTHROPIC_API_KEY,
  OPENAI_API_KEY, GEMINI_API_KEY …); a server at --base-url gets
  REGATTA_API_KEY, if it is set. Tasks do not get these keys, unless
  --pass-env names them.

Placeholders in a TASK with --each, and in CMD:
  {{item}}       the item
  {{item.stem}}  its file name without the last extension
  {{item.dir}}   its folder
  {{index}}      its number, from 1
  {{items}}      all items of the task, with --chunk
  In a TASK they are replaced by plain text; \\{{ stands for two braces. In
  CMD, an item with other characters than letters, digits and _./,:=@%+- is
  replaced by a quoted variable, so that the shell never parses it; {''{
  stands for two braces. The variables REGATTA_ITEM, REGATTA_ITEM_STEM and
  REGATTA_ITEM_DIR have the same values. An item of --each that begins with -
  gets ./ before it.

What a workspace needs:
  A workspace has the files of the repository, but none that git ignores.
  --setup runs a command in each workspace before its task, with the
  environment of the task, in the folder where the task works and within its
  time limit. Its changes there are not work of the task, and do not land; if
  it fails, the task fails. Like every command, it is not confined: files that
  it writes outside of the workspace stay there. Lines that it adds to a
  .gitignore hide no work. --carry copies ignored files into each workspace,
  at most isolation.carryLimit (1 GiB). A glob begins where the tasks work;
  one that names a folder includes everything in it. Changes of carried files
  are never captured.

Where work lands:
  --merge patch   your files, not committed; .git stays as it is
  --merge branch  regatta/RUN/TASK, a branch per task
  --merge stack   regatta/RUN, one branch with a commit per task; what `apply`
                  and `runs retry` land later is added to it
  --merge none    nowhere: `diff` shows it, `apply` lands it in your files
  --onto BRANCH   a branch of yours, as a stack. If it is checked out, its
                  files and the index are updated, too; a file with a change
                  that is not committed is a conflict
  Commits that a task made itself are kept, each with its author, date and
  message. Commits need user.name and user.email; they are not signed, and no
  hooks run. Your uncommitted changes are in no commit. Names begin with the
  setting branch.prefix instead of regatta. --land eager lands each task as it
  ends, and tries those that did not land once more at the end.

What is verified:
  --verify runs a command in the merged result before it lands, in a copy of
  its own with the set-up and the carried files of the run, not with those of
  single tasks of a plan. If it fails, it runs once more, and once without any
  task; then the tasks with which it fails are found by halving and kept as
  unverified, and the rest lands. If it fails without any task, nothing lands,
  unless --verify-anyway is given. Its own changes in the copy do not land.
  `logs RUN/TASK` shows its output, `apply RUN/TASK` lands the work
  nevertheless.

Files that several tasks append to:
  Where two tasks changed the same lines, the second conflicts. In a file with
  the attribute merge=union, or that a glob of --union matches, the lines of
  both are kept, in the order of declaration, and the landing names these
  files. A glob begins where the tasks work.

The yield of a command:
  The last line that a command writes to standard output is its yield, as JSON
  if it is valid JSON. In a plan, a task gets the yields of the tasks in its
  depends_on: {{tasks.ID.yield}} or {{tasks.ID.yield.FIELD}} in a prompt, and
  for commands the files $REGATTA_INPUTS/ID.json.";
