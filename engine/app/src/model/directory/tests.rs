use super::*;

fn model(name: &str) -> ListedModel {
    let (provider, id) = name.split_once('/').unwrap();
    let (provider, id) = (provider.to_owned(), id.to_owned());
    ListedModel { provider, id, facts: ModelFacts::default(), obstacle: None }
}

fn no_key() -> Obstacle {
    Obstacle::new("no key").hint("regatta login locked")
}

fn directory() -> ModelDirectory {
    let locked = |name| ListedModel { obstacle: Some(no_key()), ..model(name) };
    let toolless = ModelFacts { tools: Some(false), ..ModelFacts::default() };
    let plain = ModelFacts { thinking: Some(false), ..ModelFacts::default() };
    let two =
        ModelFacts { levels: vec!["low".to_owned(), "high".to_owned()], ..ModelFacts::default() };
    ModelDirectory::new(vec![
        model("anthropic/claude-opus-5"),
        model("anthropic/claude-opus-5-20260101"),
        model("anthropic/claude-haiku-4"),
        model("router/a/claude-haiku-4"),
        model("ollama/odd:high"),
        model("one/twin"),
        model("two/twin"),
        locked("locked/gem-pro"),
        locked("locked/twin"),
        ListedModel { facts: toolless, ..model("one/mute") },
        ListedModel { facts: plain, ..model("one/plain") },
        ListedModel { facts: two, ..model("one/levels") },
    ])
}

#[test]
fn a_model_is_named_by_its_id_a_glob_or_a_part_of_its_name() {
    for (name, expected) in [
        ("anthropic/claude-opus-5", "anthropic/claude-opus-5"),
        ("claude-opus-5", "anthropic/claude-opus-5"),
        ("claude-opus-5-20260101", "anthropic/claude-opus-5-20260101"),
        ("claude-haiku-4", "anthropic/claude-haiku-4"),
        ("OPUS", "anthropic/claude-opus-5"),
        ("claude-op*", "anthropic/claude-opus-5"),
        ("router/*", "router/a/claude-haiku-4"),
        ("opus:high", "anthropic/claude-opus-5:high"),
        ("odd:high", "ollama/odd:high"),
        ("odd:high:low", "ollama/odd:high:low"),
    ] {
        assert_eq!(directory().named(name).unwrap().to_string(), expected, "{name}");
    }
    let odd = directory().named("odd:high").unwrap();
    assert_eq!((odd.id.as_str(), odd.thinking), ("odd:high", None));
}

#[test]
fn a_family_means_its_newest_model_of_those_with_a_key() {
    let locked = |name| ListedModel { obstacle: Some(no_key()), ..model(name) };
    let directory = ModelDirectory::new(vec![
        locked("anthropic/claude-opus-6"),
        locked("anthropic/claude-sonnet-4-5"),
        model("openai/gpt-5"),
        model("openai/gpt-5.6"),
        model("openai-completions/gpt-5"),
        model("openai-completions/gpt-5.6"),
        model("router/anthropic/claude-opus-5"),
        model("router/anthropic/claude-opus-5-fast"),
        model("router/anthropic/claude-sonnet-4.5"),
        model("router/google/gemini-3-pro-preview"),
        locked("google/gemini-4-pro"),
        locked("xai/grok-4"),
    ]);
    let accounts = [("openai-completions".to_owned(), "openai".to_owned())];
    let directory = directory.with_accounts(accounts.into());
    let named = |name: &str| match directory.named(name) {
        Ok(route) => route.to_string(),
        Err(error) => error.what,
    };
    for (name, expected) in [
        ("opus", "router/anthropic/claude-opus-5"),
        ("opus:high", "router/anthropic/claude-opus-5:high"),
        ("sonnet", "router/anthropic/claude-sonnet-4.5"),
        ("claude-sonnet-4-5", "router/anthropic/claude-sonnet-4.5"),
        ("claude-opus-5", "router/anthropic/claude-opus-5"),
        ("gemini-pro", "router/google/gemini-3-pro-preview"),
        ("gpt", "openai/gpt-5.6"),
        ("gpt-5", "openai/gpt-5"),
        ("GPT-5", "openai/gpt-5"),
        ("gpt5", "openai/gpt-5"),
        ("Gpt_5:low", "openai/gpt-5:low"),
        ("gpt-5.6", "openai/gpt-5.6"),
        ("grok", "cannot use the model xai/grok-4"),
        ("sonet", "no model is called `sonet`"),
    ] {
        assert_eq!(named(name), expected, "{name}");
    }
    let told = directory.named("sonet").unwrap_err().to_string();
    assert!(told.contains("\n  try: --model sonnet\n"), "{told}");
    let checked = |text: &str| directory.checked(text.parse().unwrap()).unwrap().to_string();
    for (text, expected) in [
        ("openai-completions/gpt:low", "openai-completions/gpt-5.6:low"),
        ("openai/GPT-5", "openai/gpt-5"),
        ("anthropic/opus", "anthropic/claude-opus-6"),
        ("anthropic/opus-5", "anthropic/opus-5"),
        ("openai/gpt-5.7", "openai/gpt-5.7"),
        ("router/gpt", "router/gpt"),
    ] {
        assert_eq!(checked(text), expected, "{text}");
    }
    let scope = |text: &str| directory.scope(&[text.to_owned()]).unwrap().models;
    assert_eq!(
        scope("gpt*").iter().map(|it| it.id.as_str()).collect::<Vec<_>>(),
        ["gpt-5", "gpt-5.6"]
    );
}

#[test]
fn without_a_key_one_error_names_each_key_that_would_give_such_a_model() {
    let locked = |name: &str| {
        let listed = model(name);
        let hint = format!("regatta login {}", listed.provider);
        ListedModel { obstacle: Some(Obstacle::new("no key").hint(hint)), ..listed }
    };
    let locked = ModelDirectory::new(vec![
        locked("anthropic/claude-opus-5"),
        locked("one/a/kimi-k2"),
        locked("one/a/kimi-k3"),
        locked("one-too/a/kimi-k3"),
        locked("openai/gpt-5.6"),
        locked("router/anthropic/claude-opus-5"),
        locked("two/kimi-k3"),
    ]);
    let locked = locked.with_accounts([("one-too".to_owned(), "one".to_owned())].into());
    let told = |name: &str| locked.named(name).unwrap_err().to_string();
    let list = "\n  try: regatta models (those that can be used)";
    let kimi = "error: cannot use the model two/kimi-k3\n  because no key: two/kimi-k3, one/a/kimi-k3\n  \
                try: regatta login two\n  try: regatta login one";
    assert_eq!(told("kimi"), format!("{kimi}{list}"));
    let opus = "error: cannot use the model anthropic/claude-opus-5\n  because no key: \
                anthropic/claude-opus-5, router/anthropic/claude-opus-5\n  try: regatta login \
                anthropic\n  try: regatta login router";
    for name in ["opus", "opus:high", "claude", "claude-opus-5"] {
        assert_eq!(told(name), format!("{opus}{list}"), "{name}");
    }
    let gpt =
        "error: cannot use the model openai/gpt-5.6\n  because no key\n  try: regatta login openai";
    assert_eq!(told("gpt"), format!("{gpt}{list}"));
    // An id that is not listed may be one all the same.
    let dated = told("claude-opus-4-1-20250805");
    assert!(
        dated.ends_with(
            "\n  try: --model anthropic/claude-opus-4-1-20250805 (if anthropic has it)\n  try: regatta \
             login anthropic\n  try: regatta models --all"
        ),
        "{dated}"
    );
    // A server on this machine needs none.
    let mut models = locked.models().to_vec();
    models.extend([model("ollama/kimi-k2:32b"), model("ollama/gpt-oss:20b")]);
    let local = locked.with_models(models);
    assert_eq!(local.named("kimi").unwrap().to_string(), "ollama/kimi-k2:32b");
    assert_eq!(local.named("gpt").unwrap_err().what, "cannot use the model openai/gpt-5.6");
}

#[test]
fn a_name_with_a_tag_is_a_model_of_ollama_unless_another_one_has_that_name() {
    for (name, expected) in [
        ("qwen3:8b", "ollama/qwen3:8b"),
        ("qwen3:8b:high", "ollama/qwen3:8b:high"),
        ("llama3.2:latest", "ollama/llama3.2:latest"),
        ("qwen3:30b-a3b-q4_K_M", "ollama/qwen3:30b-a3b-q4_K_M"),
        ("odd:high", "ollama/odd:high"),
        ("opus:high", "anthropic/claude-opus-5:high"),
    ] {
        assert_eq!(directory().named(name).unwrap().to_string(), expected, "{name}");
    }
    let own = ModelDirectory::new(vec![model("gate/qwen3:8b")]);
    assert_eq!(own.named("qwen3:8b").unwrap().to_string(), "gate/qwen3:8b");
    for name in ["claude-opus-5:hi", ":8b", "qwen3:", "a b:8b", "qwen3:\u{1b}8"] {
        assert!(directory().named(name).is_err(), "{name}");
    }
}

#[test]
fn a_model_that_two_providers_of_an_account_have_is_listed_once() {
    let locked = |name| ListedModel { obstacle: Some(no_key()), ..model(name) };
    let directory = ModelDirectory::new(vec![
        model("gate/a"),
        model("gate-chat/a"),
        model("gate-chat/b"),
        locked("gate/c"),
        model("gate-chat/c"),
        model("other/a"),
    ]);
    let directory = directory.with_accounts([("gate-chat".to_owned(), "gate".to_owned())].into());
    let once = directory.each_once(directory.models().iter().collect());
    let once: Vec<_> = once.iter().map(ToString::to_string).collect();
    assert_eq!(once, ["gate/a", "gate-chat/b", "gate-chat/c", "other/a"]);
}

#[test]
fn a_name_of_no_or_of_several_models_is_one_clear_error() {
    let told = |name: &str| directory().named(name).unwrap_err().to_string();
    let twin = told("twin");
    assert!(
        twin.starts_with("error: `twin` may name 2 models\n  because one/twin, two/twin"),
        "{twin}"
    );
    let unknown = told("twim");
    assert!(
        unknown.contains("no model is called `twim`")
            && unknown.contains("\n  try: --model twin\n"),
        "{unknown}"
    );
    let levels = "the levels are off, minimal, low, medium, high, xhigh";
    for (name, meant) in [("twin:hihg", "high"), ("twin:ultra", "xhigh"), ("twin:x-large", "high")]
    {
        let level = name.split(':').next_back().unwrap();
        let what = format!("error: no thinking level is called `{level}`");
        assert_eq!(told(name), format!("{what}\n  because {levels}\n  try: --model twin:{meant}"));
    }
    let locked = told("gem-pro");
    assert_eq!(
        locked,
        "error: cannot use the model locked/gem-pro\n  because no key\n  try: regatta login locked\n  \
         try: regatta models (those that can be used)"
    );
    let mute = told("mute");
    assert!(mute.contains("it cannot call tools"), "{mute}");
    for name in ["", "[", "*", ":high", "\u{1b}[2J"] {
        let _some = directory().named(name); // no panic
    }
}

#[test]
fn a_thinking_level_is_one_only_where_no_model_has_it_in_its_id() {
    let checked = |text: &str| directory().checked(text.parse().unwrap());
    let odd = checked("ollama/odd:high").unwrap();
    assert_eq!((odd.id.as_str(), odd.thinking), ("odd:high", None));
    let other = checked("ollama/other:high").unwrap();
    assert_eq!((other.id.as_str(), other.thinking), ("other", Some(ThinkingLevel::High)));
    assert_eq!(checked("ollama/qwen3:8b").unwrap().id, "qwen3:8b");
    assert!(checked("one/mute").unwrap_err().to_string().contains("cannot call tools"));
    let nested = checked("a/claude-haiku-4:low").unwrap();
    assert_eq!(nested.to_string(), "router/a/claude-haiku-4:low");
    assert!(checked("unknown/model").is_ok(), "the catalogue may be older than the model");
}

#[test]
fn a_level_that_a_model_lacks_is_replaced_by_the_nearest_one() {
    for (text, other) in [
        ("one/levels:low", None),
        ("one/levels:off", None),
        ("one/levels:medium", Some(ThinkingLevel::Low)),
        ("one/levels:xhigh", Some(ThinkingLevel::High)),
        ("one/plain:high", Some(ThinkingLevel::Off)),
        ("one/twin:xhigh", None),
        ("unknown/model:high", None),
    ] {
        let route = directory().checked(text.parse().unwrap()).unwrap();
        assert_eq!((route.to_string(), directory().other_level(&route)), (text.to_owned(), other));
    }
}

#[test]
fn a_scope_has_each_model_once_in_the_order_of_its_patterns_and_tells_what_names_none() {
    let scope = |text: &str| {
        let patterns: Vec<_> = text.split(',').map(str::to_owned).collect();
        let scope = directory().scope(&patterns)?;
        let models: Vec<_> = scope.models.iter().map(ToString::to_string).collect();
        Ok::<_, Error>((models.join(" "), scope.unmatched.join(" ")))
    };
    for (patterns, models, unmatched) in [
        ("*claude-h*:low", "anthropic/claude-haiku-4:low router/a/claude-haiku-4:low", ""),
        ("one/levels, opus:high,one/levels", "one/levels anthropic/claude-opus-5:high", ""),
        ("nothing,twin", "one/twin two/twin", "nothing"),
        ("gem-pro,plain", "one/plain", "gem-pro"),
        ("mute,one/unlisted:high", "one/unlisted:high", "mute"),
    ] {
        let expected = (models.to_owned(), unmatched.to_owned());
        assert_eq!(scope(patterns).unwrap(), expected, "{patterns}");
    }
    let told = scope("gem-pro,other/x").unwrap_err().to_string();
    assert!(told.starts_with("error: `--models gem-pro,other/x` names no model"), "{told}");
}

#[test]
fn models_that_the_user_calls_the_same_are_named_by_their_common_id() {
    let same = |overrides: &[(&str, &str)], exclude: &[&str]| {
        let overrides = overrides.iter().map(|&(name, id)| (name.to_owned(), id.to_owned()));
        let exclude = exclude.iter().map(|&name| name.to_owned()).collect();
        ModelDirectory {
            equivalence: Equivalence { overrides: overrides.collect(), exclude },
            ..directory()
        }
    };
    let named = |directory: &ModelDirectory, name: &str| {
        directory.named(name).map(|route| route.to_string()).unwrap_or_default()
    };
    let overrides = [("router/a/claude-haiku-4", "small"), ("locked/gem-pro", "small")];
    let small = same(&overrides, &[]);
    assert_eq!(named(&small, "small"), "router/a/claude-haiku-4", "the other has no key");
    assert_eq!(named(&small, "small:low"), "router/a/claude-haiku-4:low");
    let twins = same(&[("two/twin", "twin")], &[]);
    assert_eq!(named(&twins, "twin"), "one/twin");
    assert_eq!(named(&twins, "two/twin"), "two/twin", "its whole name");
    assert_eq!(named(&twins, "claude-opus-5"), "anthropic/claude-opus-5");
    assert_eq!(named(&same(&[("router/a/claude-haiku-4", "twin")], &[]), "twin"), "one/twin");
    assert_eq!(named(&same(&[], &["one/twin", "locked/twin"]), "twin"), "two/twin");
    assert_eq!(named(&same(&[("two/twin", "twin")], &["one/twin"]), "twin"), "two/twin");
    assert_eq!(named(&directory(), "twin"), "", "nobody says that they are the same");
}

#[test]
fn a_file_of_models_of_which_nothing_is_used_is_why_its_models_are_unknown() {
    let fault = "models.json:3:7: in `providers.mine`: no";
    let broken = directory().with_file_fault(Some(fault.to_owned()));
    let why = broken.obstacle(&"mine/x".parse().unwrap()).map(|it| it.to_string());
    assert_eq!(why.as_deref(), Some(fault));
    let told = broken.named("mine-x").unwrap_err().to_string();
    assert!(told.contains(&format!("\n  because {fault}\n")), "{told}");
}
