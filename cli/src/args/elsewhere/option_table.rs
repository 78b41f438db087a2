//! The table of the options of other programs, with what does the same in `regatta run` and in a session.

use crate::elsewhere::{SETTINGS, UPDATE};

const ALLOWED: &str =
    "leave it out: tools run without a question in a copy, unless --approval-mode says otherwise";
const YOLO: &str = "--approval-mode yolo (no question before a tool call)";
const IN_COPY: &str = "leave it out: each task works in a copy";
const NO_SANDBOX: &str = "there is no sandbox: docs/safety.md";
const ISOLATED: &str =
    "there is no sandbox: docs/safety.md\n--isolated (works in a copy; commands are not confined)";
const READS: &str = "--tools read,grep,find,ls (without bash: nothing else confines a command)";
const ALL_TOOLS: &str = "leave it out: a task has all tools and works in a copy";
const SEARCH: &str = "leave it out: the model fetches pages with curl";
const SEARCH_HERE: &str = "leave it out: the model fetches pages with curl, which a question allows\n\
                           --approval-mode yolo (without a question: for -p)";
const NO_MCP: &str = "leave it out: `regatta mcp` lists the servers";
const NO_EXTENSION: &str = "leave it out: extensions are not implemented yet";

/// The options, separated by blanks; `NAME=VALUE` is an option with this value only, where `KEY=` stands for a
/// setting such as `a.b=c`, `N` for a number and `WORD` for one word. An empty text stands where the command has
/// the options itself. Places such as `<N>` are the value that was typed.
#[rustfmt::skip]
pub(super) const OPTIONS: &[(&str, &str, &str)] = &[
    (
        "-P -n --parallel --parallelism --concurrency --max-concurrency --max-procs --max-parallel --workers \
         --threads --agents=N --instances",
        "--jobs <N>",
        "regatta run --jobs <N> TASK",
    ),
    (
        "--agents --agents-file",
        "leave it out: each TASK is an agent of its own",
        "regatta run TASK (each is an agent of its own)",
    ),
    (
        "-l --load-average --max-load --load",
        "--jobs N (so many at once; the load is not looked at)",
        "regatta run --jobs N TASK",
    ),
    ("--timeout --wall --max-time --time-limit --deadline", "--limit wall=<20m>", "timeout <20m> regatta -p PROMPT"),
    (
        "--turns --max-turns --max-steps --max-iterations --max-session-turns",
        "--limit turns=<40>",
        "regatta run --limit turns=<40> TASK",
    ),
    (
        "--max-budget-usd --max-cost --budget --cost",
        "--limit cost=<DOLLARS:2.00>USD (of each task)",
        "regatta run --limit cost=<DOLLARS:2.00>USD TASK",
    ),
    ("--max-tokens --tokens --token-limit", "--limit tokens=<400k>", "regatta run --limit tokens=<400k> TASK"),
    ("--permission-mode=plan -s=read-only --sandbox=read-only", NO_SANDBOX, READS),
    ("--permission-mode=acceptEdits", "--approval-mode write", "--approval-mode write"),
    (
        "--permission-mode=default --permission-mode=manual -a=on-request -a=on-failure -a=untrusted \
         --ask-for-approval=on-request --ask-for-approval=on-failure --ask-for-approval=untrusted",
        "--approval-mode ask",
        "--approval-mode ask",
    ),
    (
        "--yolo --dangerously-skip-permissions --allow-dangerously-skip-permissions \
         --dangerously-bypass-approvals-and-sandbox --full-auto --auto-approve --permission-mode \
         --ask-for-approval --permission-prompt-tool --yes --yes-always --no-confirm --allow-all-tools -y \
         -a=never",
        ALLOWED,
        YOLO,
    ),
    ("-s=danger-full-access --sandbox=danger-full-access --sandbox=off --sandbox=none", "leave it out: commands are not confined", YOLO),
    ("--sandbox -s=workspace-write", NO_SANDBOX, ISOLATED),
    ("-s=N", "--chunk N (so many items in a task)", "regatta run --each SPEC --chunk N --exec 'CMD {{items}}'"),
    // Git, make and curl have it.
    ("-s", "--quiet", "--quiet"),
    ("--docker --podman --container --rm", NO_SANDBOX, ISOLATED),
    ("--worktree -w", IN_COPY, "--isolated"),
    ("--read-only --readonly", "--merge none (your files stay as they are)", "--tools read"),
    ("--output-format=text --format=text", "leave it out: it prints text", "--mode text"),
    (
        "--output-format --format --stream-json --output=json --output=stream-json -o=json -o=stream-json \
         --include-partial-messages",
        "--json",
        "--mode json",
    ),
    (
        "--input-format",
        "--each - (each line of standard input is an item)",
        "leave it out: standard input is a text, and comes before the prompt",
    ),
    (
        "--output --out --output-file --output-last-message -o",
        "regatta results @ > <FILE> (after the run)",
        "regatta -p PROMPT > <FILE>",
    ),
    (
        "--cwd --cd -C --dir --directory --workdir --working-directory --path",
        "--repo <DIR>",
        "--repo <DIR>",
    ),
    (
        "--add-dir --include-directories",
        "leave it out: commands read any folder, other tools only the repository",
        "leave it out: commands read any folder, other tools only the one of the session",
    ),
    ("--env -e", "<NAME=VALUE> regatta run --pass-env <NAME> …", "<NAME=VALUE> regatta …"),
    ("--watch --follow", "regatta logs RUN --follow", "regatta logs SESSION --follow"),
    (
        "--background --bg --daemon -b -d --detached",
        "regatta run … &\nregatta logs RUN --follow",
        "regatta -p PROMPT &",
    ),
    (
        "--keep-going -k --no-fail-fast --ignore-errors",
        "leave it out: when a task fails, the others go on",
        "regatta run TASK (when a task fails, the others go on)",
    ),
    ("--halt --stop-on-error --exit-on-error --bail", "--fail-fast", "regatta run --fail-fast TASK"),
    (
        "--delimiter",
        "tr <SIGN:','> '\\n' | regatta run --each - …",
        "tr <SIGN:','> '\\n' | regatta run --each - 'What to do with {{item}}'",
    ),
    (
        "--no-run-if-empty",
        "leave it out: without items nothing is run",
        "regatta run --each - 'What to do with {{item}}'",
    ),
    (
        "-E --eof",
        "leave it out: each line of --each - is an item",
        "regatta run --each - 'What to do with {{item}}'",
    ),
    ("-B --always-make", "leave it out: each run does all its tasks", "regatta run TASK"),
    ("-0 --print0", "--null", "regatta run --each - --null 'What to do with {{item}}'"),
    ("--stdin", "--each -", "leave it out: standard input comes before the prompt"),
    ("-a --arg-file --items --input", "--each @<FILE>", "@<FILE> (as a prompt)"),
    ("-f --file --tasks --task-file --tasks-file", "--plan <FILE> (TOML, YAML or JSON)\n--each @<FILE> '{{item}}' (each line is a task)", "@<FILE> (as a prompt)"),
    ("--recipe", "--plan <FILE>", "regatta run --plan <FILE>"),
    (
        "--files --foreach --for-each --glob --over --include",
        "--each <SPEC>",
        "regatta run --each <SPEC> 'What to do with {{item}}'",
    ),
    (
        "--exclude --ignore",
        "git ls-files FILES <EXCLUDED:':(exclude)PATTERN'> | regatta run --each - …",
        "git ls-files FILES <EXCLUDED:':(exclude)PATTERN'> | regatta run --each - 'What to do with {{item}}'",
    ),
    (
        "-i --image --images",
        "leave it out: name the file in the prompt (its model reads it)",
        "@<FILE> (as a prompt)",
    ),
    ("--prompt-file", "regatta run \"$(cat <FILE>)\"", "@<FILE> (as a prompt)"),
    (
        "-I --replace",
        "{{item}} (in the command or the prompt)",
        "regatta run --each SPEC --exec 'CMD {{item}}'",
    ),
    (
        "-L --max-args --max-lines --batch --batch-size --chunk-size",
        "--chunk <N>",
        "regatta run --each SPEC --chunk <N> --exec 'CMD {{items}}'",
    ),
    ("--command --cmd --run", "--exec <CMD>", "regatta run --exec <CMD>"),
    // Of pytest, and nearly that of xargs.
    ("-x", "--fail-fast", "regatta run --fail-fast TASK"),
    ("-c=model= --config=model=", "--model <MODEL>", "--model <MODEL>"),
    ("-c=model_provider= --config=model_provider=", "--model <PROVIDER>/ID", "--provider <PROVIDER> --model ID"),
    (
        "-c=model_reasoning_effort= --config=model_reasoning_effort=",
        "--model MODEL:<high>",
        "--thinking <LEVEL>",
    ),
    (
        "-c=approval_policy= --config=approval_policy= -c=sandbox_mode= --config=sandbox_mode=",
        "--approval-mode ask",
        "--approval-mode ask",
    ),
    ("-c=KEY= --config=KEY= --enable --disable", SETTINGS, SETTINGS),
    ("-c", "--exec <CMD>", ""),
    ("-p --print", "regatta run <TASK> (without an option)", ""),
    ("-t --text --prompt --message --instructions", "regatta run <TASK> (without an option)", "-p <PROMPT>"),
    ("--prompt-interactive", "regatta run <TASK> (without an option)", "regatta <PROMPT>"),
    ("--system --system-prompt-file", "say it in each TASK or in AGENTS.md", "--system-prompt <TEXT>"),
    ("--append-system-prompt-file", "say it in each TASK or in AGENTS.md", "--append-system-prompt <FILE>"),
    ("--system-prompt --append-system-prompt", "say it in each TASK or in AGENTS.md", ""),
    (
        "--allowedTools=RULE --allowed-tools=RULE",
        "--approval-mode ask (and the setting approvals.allow with <RULE>)",
        "--approval-mode ask (and the setting approvals.allow with <RULE>)",
    ),
    (
        "--disallowedTools=RULE --disallowed-tools=RULE --exclude-tools=RULE",
        "the setting approvals.deny (with <RULE>)",
        "the setting approvals.deny (with <RULE>)",
    ),
    (
        "--allowedTools=BASH --allowed-tools=BASH",
        ALL_TOOLS,
        "--approval-mode yolo --tools <TOOLS:bash> (no question before a tool call)",
    ),
    ("--allowedTools --allowed-tools", ALL_TOOLS, "--tools <TOOLS:read,write>"),
    (
        "--disallowedTools --disallowed-tools --exclude-tools",
        ALL_TOOLS,
        "--tools <OTHER TOOLS:read,write>",
    ),
    ("--tools --no-tools", ALL_TOOLS, ""),
    ("--models", "--model <MODEL>", ""),
    ("--thinking", "--model MODEL:<high>", ""),
    ("--provider", "--model <PROVIDER>/ID", ""),
    ("--resume --continue -r", "regatta runs retry <RUN> --cancelled", ""),
    ("--output-schema --json-schema", "--schema <FILE>", "regatta run --schema <FILE> TASK"),
    (
        "--skip-git-repo-check --no-git",
        "git init (a run needs a repository)",
        "leave it out: a session works in any folder",
    ),
    ("--search --web-search", SEARCH, SEARCH_HERE),
    ("--shell", "--exec <CMD>", "regatta (and in it !COMMAND)"),
    ("--effort --reasoning --reasoning-effort --variant", "--model MODEL:<high>", "--thinking <LEVEL>"),
    ("--key --token", "--api-key KEY", "--api-key KEY"),
    ("--url --api-base --endpoint --host", "--base-url <URL>", "--base-url <URL>"),
    ("--oss --local --local-provider", "--model ollama/MODEL", "--model ollama/MODEL"),
    ("--fallback-model", "the setting retry.fallbackChains", "the setting retry.fallbackChains"),
    ("--session-id", "leave it out: each task has a session of its own", "--resume <ID>"),
    // In a run, it is --merge.
    ("-m", "", "--model <MODEL>"),
    ("--last", "regatta runs retry @", "--continue"),
    ("--fork-session", "regatta --fork ID", "--fork ID"),
    (
        "--no-session-persistence --ephemeral --no-save",
        "regatta gc (removes the logs of landed work when they are old)",
        "--no-session",
    ),
    ("--title --session-name", "--label <TEXT>", "/name <TEXT> (in the conversation)"),
    ("--name", "", "/name <TEXT> (in the conversation)"),
    ("--settings --config --profile --setting-sources", SETTINGS, SETTINGS),
    (
        "--bare --no-context --ignore-user-config --ignore-rules",
        "leave it out: a task reads AGENTS.md only",
        "--no-context-files",
    ),
    (
        "--ide --chrome --no-chrome --tmux --no-alt-screen --remote --teleport",
        "leave it out: a run works in any terminal",
        "leave it out: a session works in any terminal",
    ),
    ("--mcp-config --strict-mcp-config --mcp-debug", NO_MCP, NO_MCP),
    ("--plugin-dir --extensions --with-extension --with-builtin", NO_EXTENSION, NO_EXTENSION),
    ("--debug --trace --log-level --print-logs", "-v", "-v"),
    ("--silent", "--quiet", "--quiet"),
    ("--no-color --no-colour --nocolor", "--color never", "--color never"),
    ("--no-progress", "--progress none", "--progress none"),
    ("--bar --eta", "--progress live", "--progress live"),
    ("--joblog", "regatta runs show RUN --json", "regatta logs SESSION"),
    ("--keep-order", "leave it out: work lands in the order of the tasks", "regatta run TASK"),
    (
        "--dry --what-if --just-print --check --recon --simulate",
        "--dry-run",
        "regatta run --dry-run TASK",
    ),
    ("--branch -b=WORD", "--merge branch\n--onto <BRANCH>", "regatta run --merge branch TASK"),
    ("--stack", "--merge stack (a commit per task)", "regatta run --merge stack TASK"),
    ("--patch", "--merge patch", "regatta run --merge patch TASK"),
    (
        "--base --from --ref --start-point --rev --revision",
        "git checkout <REF> (before it: a run begins with the files of your tree)",
        "git checkout <REF> (before it)",
    ),
    ("--rebase", "git rebase (after it)", "git rebase (after it)"),
    ("--push", "git push (after it)", "git push (after it)"),
    ("--tag=WORD", "git tag <NAME> (after it)", "git tag <NAME> (after it)"),
    ("--tag", "leave it out: regatta logs names the task of each output", "git tag NAME (after it)"),
    (
        "--pr --pull-request --create-pr",
        "--merge branch\ngh pr create (after it)",
        "gh pr create (after it)",
    ),
    (
        "--must-change --require-change --require-changes",
        "--plan FILE (in which a task has `must_change = true`)",
        "regatta run --plan FILE (in which a task has `must_change = true`)",
    ),
    (
        "--depends-on --depends_on --after --needs --priority",
        "--plan FILE (in which a task has `depends_on` and `priority`)",
        "regatta run --plan FILE (in which a task has `depends_on` and `priority`)",
    ),
    (
        "--commit --auto-commit --auto-commits --squash",
        "--merge stack (a commit per task)",
        "git commit (after it)",
    ),
    ("--amend", "--merge stack (a new commit per task)", "git commit --amend (after it)"),
    (
        "--no-commit --dont-commit",
        "leave it out: nothing is committed, unless --merge or --onto says so",
        "leave it out: only the model commits",
    ),
    (
        "--no-merge --no-land",
        "--merge none\nregatta apply RUN (later)",
        "regatta run --merge none TASK",
    ),
    ("--no-verify", "leave it out: no hooks run", "leave it out: only the model commits"),
    ("--force", "leave it out: what conflicts is kept", YOLO),
    ("--test-cmd --lint-cmd --test", "--verify <CMD>", "regatta run --verify <CMD> TASK"),
    (
        "--retries --retry --rerun-failed",
        "regatta runs retry RUN (a new run of what failed)\nretry.maxRetries (the setting for requests to a model)",
        "retry.maxRetries (the setting for requests to a model)",
    ),
    ("--tui --interactive", "regatta", "leave it out: regatta on a terminal is a conversation"),
    ("--headless --non-interactive --no-tui", "leave it out: a run asks nothing", "-p"),
    ("--update --upgrade", UPDATE, UPDATE),
    ("--list --list-sessions", "regatta runs", "regatta --resume"),
];
