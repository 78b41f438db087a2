use std::collections::BTreeSet;
use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroUsize};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{ApprovalMode, ApprovalRule, IsolationMode, MergeMode, TaskLimits};

use super::{DEFAULTS, Flag, Settings, Sources};
use crate::project_mark::{DocumentedKey, documented_keys};
use crate::{Key, Origin, SettingsError, UnknownKey};

type Loaded = Result<(Settings, Vec<UnknownKey>), SettingsError>;

/// Loads a file with this text, these variables and these options.
fn load(text: &str, variables: &[(&str, &str)], flags: &[(Key, &str, &str)]) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yml");
    std::fs::write(&file, text).unwrap();
    load_file(&file, variables, flags)
}

fn load_file(file: &Path, variables: &[(&str, &str)], flags: &[(Key, &str, &str)]) -> Loaded {
    let variable = |name: &str| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let flags: Vec<_> = flags
        .iter()
        .map(|(key, name, value)| Flag {
            key: *key,
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        })
        .collect();
    let home = Some(Path::new("/home/ada"));
    Settings::load(&Sources { file, home, variable: &variable, flags: &flags })
}

fn refusal(text: &str) -> String {
    let error = load(text, &[], &[]).unwrap_err().to_string();
    error.split_once("config.yml").map_or(error.clone(), |(_, rest)| format!("config.yml{rest}"))
}

#[test]
fn without_a_file_everything_is_as_the_defaults_say() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, unknown) = load_file(&folder.path().join("none.yml"), &[], &[]).unwrap();
    assert_eq!(unknown, []);
    assert_eq!(settings.max_concurrency.value, None);
    assert_eq!(settings.isolation_mode.value, IsolationMode::Worktree);
    assert_eq!(settings.merge_mode.value, MergeMode::Patch);
    assert_eq!(settings.isolation_dir.value, None);
    assert_eq!(settings.untracked_limit.value, 256 << 20);
    assert_eq!(settings.branch_prefix.value, "regatta");
    assert_eq!(settings.env_remove.value, Vec::<String>::new());
    assert_eq!(settings.env_keep_only.value, None);
    assert_eq!(settings.task_limits(), TaskLimits::default());
    assert_eq!(settings.limit_wall.origin, Origin::BuiltIn);
    assert_eq!(settings.model_default.value, None);
    assert!(settings.prices.value.is_empty());
    assert_eq!(settings.provider_concurrency.value, None);
    assert_eq!((settings.retry_enabled.value, settings.retry_max_retries.value), (true, 4));
    assert_eq!(settings.retry_base_delay.value, Duration::from_secs(2));
    assert_eq!(settings.retry_outage.value, Duration::from_secs(45));
    assert_eq!(settings.quota_wait.value, Duration::from_secs(6 * 3600));
    assert_eq!(settings.stream_first_event_timeout.value, Duration::from_secs(100));
    assert_eq!(settings.stream_idle_timeout.value, Duration::from_secs(120));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_setting_is_in_the_defaults_file_under_a_remark_that_explains_it() {
    let mut documented = BTreeSet::new();
    for DocumentedKey { key, mark, above } in documented_keys(DEFAULTS) {
        assert!(above.trim_start().starts_with("# "), "{key} has no remark above it");
        assert!(mark.is_some(), "{key} has no mark behind it: what may a project do with it?");
        assert!(documented.insert(key), "{key} is there twice");
    }
    assert_eq!(documented, BTreeSet::from(Key::ALL));
}

#[test]
fn the_later_layer_wins_and_each_value_knows_where_it_comes_from() {
    let text =
        "task:\n  maxConcurrency: 4\n  isolation:\n    merge: branch\nlimits: { wall: 1h30m }\n";
    let variables = [
        ("REGATTA_TASK_MAX_CONCURRENCY", "5"),
        ("REGATTA_ENV_REMOVE", "NPM_TOKEN, CI"),
        ("REGATTA_LIMITS_OUTPUT", ""),
    ];
    let flags = [(Key::MaxConcurrency, "--jobs", "6")];
    let (settings, _) = load(text, &variables, &flags).unwrap();
    assert_eq!(settings.max_concurrency.value, NonZeroUsize::new(6));
    assert_eq!(settings.max_concurrency.origin.to_string(), "the option --jobs");
    assert_eq!(settings.env_remove.value, ["NPM_TOKEN", "CI"]);
    assert_eq!(settings.env_remove.origin.to_string(), "the variable REGATTA_ENV_REMOVE");
    assert_eq!(settings.merge_mode.value, MergeMode::Branch);
    let Origin::User { line: 4, .. } = settings.merge_mode.origin else {
        panic!("{:?}", settings.merge_mode.origin);
    };
    assert_eq!(settings.limit_wall.value, Duration::from_secs(5_400));
    assert_eq!(settings.limit_output.origin, Origin::BuiltIn, "an empty variable sets nothing");

    let (settings, _) = load(text, &variables, &[]).unwrap();
    assert_eq!(settings.max_concurrency.value, NonZeroUsize::new(5));
    let (settings, _) = load(text, &[], &[]).unwrap();
    assert_eq!(settings.max_concurrency.value, NonZeroUsize::new(4));
}

#[test]
fn every_setting_can_be_set_in_the_file() {
    let text = "
task.maxConcurrency: 3
task: { isolation: { mode: none, merge: none } }
isolation:
  dir: ~/work spaces
  untrackedLimit: 1 GiB
branch: { prefix: team/bots }
approvals: { mode: ask, deny: ['bash(rm *)', read(.env)], ask: edit, allow: ['Bash(npm run:*)'] }
env:
  remove: [A, B]
  keep_only: [PATH]
  pass: [OPENAI_API_KEY]
limits:
  wall: 90
  output: 500 KB
  turns: 7
  tokens: 2M
  cost: 2.5 USD
modelRoles: { default: ollama/qwen3:8b, smol: 'haiku:high', slow: offline/some file.toml, plan: d/e/f }
prices: { a/b: { input: 1, output: 2 } }
provider: { maxConcurrency: 9 }
retry: { enabled: false, maxRetries: 0, baseDelayMs: 10 }
stream: { firstEventTimeout: 5s, idleTimeout: 0 }
";
    let (settings, unknown) = load(text, &[], &[]).unwrap();
    assert_eq!(unknown, []);
    assert_eq!(settings.max_concurrency.value, NonZeroUsize::new(3));
    assert_eq!(settings.isolation_mode.value, IsolationMode::None);
    assert_eq!(settings.merge_mode.value, MergeMode::None);
    assert_eq!(settings.isolation_dir.value, Some(PathBuf::from("/home/ada/work spaces")));
    assert_eq!(settings.untracked_limit.value, 1 << 30);
    assert_eq!(settings.branch_prefix.value, "team/bots");
    let approvals = settings.approvals(None);
    let texts = |rules: &[ApprovalRule]| rules.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(approvals.mode, Some(ApprovalMode::Ask));
    assert_eq!(settings.approvals(Some(ApprovalMode::Write)).mode, Some(ApprovalMode::Write));
    assert_eq!(texts(&approvals.deny), ["bash(rm *)", "read(.env)"]);
    assert_eq!(texts(&approvals.ask), ["edit"]);
    assert_eq!(texts(&approvals.allow), ["Bash(npm run:*)"]);
    assert_eq!(settings.env_remove.value, ["A", "B"]);
    assert_eq!(settings.env_keep_only.value, Some(vec!["PATH".to_owned()]));
    assert_eq!(settings.env_pass.value, ["OPENAI_API_KEY"]);
    let wall = Duration::from_secs(90);
    let turns = NonZeroU32::new(7).unwrap();
    let cost = Some(protocol::Cost::from_nanodollars(2_500_000_000));
    let limits = TaskLimits { wall, output: 500_000, turns, tokens: Some(2_000_000), cost };
    assert_eq!(settings.task_limits(), limits);
    let roles =
        [settings.model_default, settings.model_smol, settings.model_slow, settings.model_plan];
    let roles = roles.map(|role| role.value.unwrap_or_default());
    assert_eq!(roles, ["ollama/qwen3:8b", "haiku:high", "offline/some file.toml", "d/e/f"]);
    assert_eq!(settings.prices.value["a/b"].output, 2_000_000_000);
    assert_eq!(settings.provider_concurrency.value, NonZeroUsize::new(9));
    assert_eq!((settings.retry_enabled.value, settings.retry_max_retries.value), (false, 0));
    assert_eq!(settings.retry_base_delay.value, Duration::from_millis(10));
    assert_eq!(settings.stream_first_event_timeout.value, Duration::from_secs(5));
    assert_eq!(settings.stream_idle_timeout.value, Duration::ZERO);
}

#[test]
fn a_value_that_cannot_be_is_refused_with_its_place() {
    for (text, expected) in [
        (
            "task:\n  maxConcurrency: 0\n",
            "config.yml:2: `task.maxConcurrency` must be a whole number of at least 1, not `0`",
        ),
        (
            "task:\n  maxConcurrency: many\n",
            "config.yml:2: `task.maxConcurrency` must be a whole number of at least 1, not `many`",
        ),
        (
            "approvals:\n  deny:\n    - 'bsh(rm *)'\n",
            "config.yml:2: `approvals.deny`: the rule `bsh(rm *)` names no tool; did you mean `bash`?",
        ),
        (
            "approvals:\n  denny: ['bash(rm *)']\n",
            "config.yml:2: there is no setting `approvals.denny`; did you mean `approvals.deny`?",
        ),
        (
            "approval: { deny: ['bash(rm *)'] }",
            "config.yml:1: there is no setting `approval`; did you mean `approvals`?",
        ),
        (
            "deny: ['bash(rm *)']",
            "config.yml:1: there is no setting `deny`; did you mean `approvals.deny`?",
        ),
        ("approvals: { block: [bash] }", "config.yml:1: there is no setting `approvals.block`"),
        (
            "approvals: { ask: [3] }",
            "config.yml:1: `approvals.ask` must be a list of rules such as `bash(cargo test *)` or \
             `edit(docs/**)`, not this one",
        ),
        (
            "approvals: { mode: never }",
            "config.yml:1: `approvals.mode` must be `ask`, `write` or `yolo`, not `never`",
        ),
        (
            "task: { isolation: { mode: overlayfs } }",
            "config.yml:1: `task.isolation.mode` must be `auto`, `worktree` or `none` (the others \
             are not implemented yet), not `overlayfs`",
        ),
        (
            "\n\nlimits: { wall: 0 }",
            "config.yml:3: `limits.wall` must be a duration such as `90s`, `20m` or `1h30m`, not `0`",
        ),
        (
            "limits: { output: [1] }",
            "config.yml:1: `limits.output` must be a size such as `500 KB` or `256 MiB`, not a list",
        ),
        (
            "retention: { olderThan: 5 }",
            "config.yml:1: `retention.olderThan` must be an age with its unit, such as `30d` or `12h`, \
             not `5`",
        ),
        (
            "retention: { keepSize: 2 }",
            "config.yml:1: `retention.keepSize` must be a size with its unit, such as `2 GB` or \
             `500 MB`, not `2`",
        ),
        (
            "isolation: { dir: relative }",
            "config.yml:1: `isolation.dir` must be an absolute path, or one that begins with `~/`, \
             not `relative`",
        ),
        (
            "env: { remove: \"A=B\" }",
            "config.yml:1: `env.remove` must be a list of names of environment variables, not `A=B`",
        ),
        (
            "env: { keep_only: [] }",
            "config.yml:1: `env.keep_only` must be a list of at least one environment variable, not \
             an empty list",
        ),
        (
            "limits: { cost: 5 }",
            "config.yml:1: `limits.cost` must be an amount of US dollars, such as `2.00 USD`, not `5`",
        ),
        (
            "limits: { turns: 0 }",
            "config.yml:1: `limits.turns` must be a whole number of at least 1, not `0`",
        ),
        (
            "modelRoles: { default: qwen/ }",
            "config.yml:1: `modelRoles.default` must be a model, for instance `ollama/qwen3:8b` \
             (`PROVIDER/ID`) or `sonnet` (a family), not `qwen/`",
        ),
        (
            "prices: { a/b: { input: 1 } }",
            "config.yml:1: `prices` must be a mapping of `PROVIDER/ID` to `{ input: …, output: … }` \
             in US dollars per million tokens, with `cacheRead` and `cacheWrite` where they cost \
             something else than `input`, not this one",
        ),
        (
            "retry: { maxRetries: 101 }",
            "config.yml:1: `retry.maxRetries` must be a whole number up to 100, not `101`",
        ),
        (
            "retry: { enabled: 3 }",
            "config.yml:1: `retry.enabled` must be `true` or `false`, not `3`",
        ),
        (
            "stream: { idleTimeout: soon }",
            "config.yml:1: `stream.idleTimeout` must be a duration such as `90s` or `2m`, or 0 to \
             wait for ever, not `soon`",
        ),
        ("task: 3", "config.yml:1: `task` is a group of settings, not a value"),
        ("limits: { wall: 1m }\nlimits.wall: 2m", "config.yml:2: `limits.wall` is set twice"),
        ("- a", "config.yml:1: settings are a mapping of keys to values"),
    ] {
        assert_eq!(refusal(text), expected, "{text}");
    }
    for prefix in ["", "/", "a//b", "-a", ".a", "a..b", "a.lock", "a b", "a/", "ä", "a~b", "refs\n"]
    {
        let text = format!("branch: {{ prefix: {prefix:?} }}");
        assert!(refusal(&text).contains("`branch.prefix` must be"), "{prefix}");
    }
}

#[test]
fn a_wrong_value_is_refused_even_where_another_layer_hides_it() {
    let flags = [(Key::MaxConcurrency, "--jobs", "6")];
    assert!(load("task.maxConcurrency: -1", &[], &flags).is_err());
    let variables = [("REGATTA_LIMITS_WALL", "soon")];
    assert_eq!(
        load("", &variables, &[]).unwrap_err().to_string(),
        "the variable REGATTA_LIMITS_WALL: `limits.wall` must be a duration such as `90s`, `20m` or \
         `1h30m`, not `soon`"
    );
}

#[test]
fn a_key_that_nobody_knows_is_told_with_its_line_and_the_nearest_key() {
    let text =
        "theme:\n  dark: x\n  light: y\ntask:\n  maxConcurency: 4\n  isolation:\n    modes: 1\n";
    let (settings, unknown) = load(text, &[], &[]).unwrap();
    let told: Vec<_> = unknown
        .iter()
        .map(|unknown| unknown.to_string().split_once("config.yml").unwrap().1.to_owned())
        .collect();
    assert_eq!(
        told,
        [
            ":1: there is no setting `theme`",
            ":5: there is no setting `task.maxConcurency`; did you mean `task.maxConcurrency`?",
            ":7: there is no setting `task.isolation.modes`; did you mean `task.isolation.mode`?",
        ]
    );
    assert_eq!(settings.max_concurrency.value, None);
    for (text, meant) in [
        ("limit:\n  wall: 3m\n", "limits"),
        ("tasks:\n  maxConcurrency: 4\n", "task"),
        ("wall: 3m\n", "limits.wall"),
        ("isolation:\n  mode: worktree\n", "task.isolation.mode"),
        ("modelroles:\n  default: a/b\n", "modelRoles"),
    ] {
        let (_, unknown) = load(text, &[], &[]).unwrap();
        assert_eq!(unknown[0].nearest, Some(meant), "{text}");
    }
}

#[test]
fn a_file_that_cannot_be_settings_is_refused_and_never_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yml");
    let load = || load_file(&file, &[], &[]).map(drop).unwrap_err();

    std::fs::create_dir(&file).unwrap();
    assert!(matches!(load(), SettingsError::Unreadable { .. }));
    std::fs::remove_dir(&file).unwrap();

    symlink("/dev/zero", &file).unwrap();
    assert!(matches!(load(), SettingsError::Unreadable { .. }));
    std::fs::remove_file(&file).unwrap();

    std::fs::write(&file, "# x\n".repeat(300_000)).unwrap();
    assert!(matches!(load(), SettingsError::TooLarge { limit: 1_048_576, .. }));

    std::fs::write(&file, b"a: 1\nb: \xff\n").unwrap();
    assert!(load().to_string().ends_with("config.yml:2: it is not UTF-8"));
    std::fs::write(&file, b"\xff\xfea\0").unwrap();
    assert!(load().to_string().contains("config.yml:1: it is UTF-16, and not UTF-8; `iconv"));
}

#[test]
fn what_a_file_says_is_quoted_short_and_harmless() {
    let long = format!("branch: {{ prefix: \"\\e[2J{}\" }}", "x".repeat(5_000));
    let error = refusal(&long);
    assert!(error.len() < 300 && !error.contains('\u{1b}'), "{error}");
    let (_, unknown) = load(&format!("\"\\e[2J{}\": 1", "x".repeat(500)), &[], &[]).unwrap();
    let told = unknown[0].to_string();
    assert!(told.len() < 300 && !told.contains('\u{1b}'), "{told}");
}

#[test]
fn each_setting_has_a_variable_of_its_own() {
    let variables: BTreeSet<_> = Key::ALL.into_iter().map(Key::variable).collect();
    assert_eq!(variables.len(), Key::ALL.len());
    assert!(variables.contains("REGATTA_TASK_ISOLATION_MODE"));
    assert!(variables.contains("REGATTA_ENV_KEEP_ONLY"));
    assert!(variables.contains("REGATTA_ISOLATION_UNTRACKED_LIMIT"));
}

#[test]
fn a_variable_of_another_name_sets_the_same_and_its_own_goes_before_it() {
    let variables = [
        ("REGATTA_MODEL", "ollama/a"),
        ("PI_SMOL_MODEL", "ollama/b"),
        ("REGATTA_SMOL_MODEL", "ollama/c"),
        ("PI_STREAM_IDLE_TIMEOUT_MS", "1500"),
        ("REGATTA_STREAM_FIRST_EVENT_TIMEOUT_MS", "0"),
    ];
    let (settings, _) = load("modelRoles: { default: a/b }", &variables, &[]).unwrap();
    assert_eq!(settings.model_default.value.as_deref(), Some("ollama/a"));
    assert_eq!(settings.model_default.origin.to_string(), "the variable REGATTA_MODEL");
    assert_eq!(settings.model_smol.value.as_deref(), Some("ollama/c"));
    assert_eq!(settings.stream_idle_timeout.value, Duration::from_millis(1_500));
    assert_eq!(settings.stream_first_event_timeout.value, Duration::ZERO);
    let variables = [("REGATTA_MODEL", "a/a"), ("REGATTA_MODEL_ROLES_DEFAULT", "b/b")];
    let (settings, _) = load("", &variables, &[]).unwrap();
    assert_eq!(settings.model_default.value.as_deref(), Some("b/b"));
    let wrong = load("", &[("PI_STREAM_IDLE_TIMEOUT_MS", "soon")], &[]).unwrap_err().to_string();
    assert!(wrong.starts_with("the variable PI_STREAM_IDLE_TIMEOUT_MS: `stream.idleTimeout` must"));
    let wrong = load("", &[("REGATTA_MODEL", "qwen/")], &[]).unwrap_err().to_string();
    assert!(wrong.ends_with("`sonnet` (a family), not `qwen/`"), "{wrong}");
}
