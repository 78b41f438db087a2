//! The command `regatta mcp`: which servers are defined, and which of them may start.

use std::fs;
use std::path::PathBuf;

use tests::sandbox::{Finished, Repository, Sandbox};

use crate::binary::sandbox;

/// A server that offers one tool, whose description is the variables that it got.
const SERVER: &str = r#"#!/bin/sh
echo started >> "$1"
echo 'server log' >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*)
      result='"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"canary","version":"1.2"}' ;;
    *'"tools/list"'*)
      tool="{\"name\":\"say\",\"description\":\"got $TOKEN ${OPENAI_API_KEY:-none}\",\"inputSchema\":{\"type\":\"object\"}}"
      result="\"tools\":[$tool]" ;;
    *) result= ;;
  esac
  if [ -n "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":{%s}}\n' "$id" "$result"; fi
done
"#;

struct World {
    place: Sandbox,
    repository: Repository,
}

impl World {
    fn new() -> Self {
        let place = sandbox();
        let repository = place.repository();
        fs::write(place.folder().join("server.sh"), SERVER).expect("a file can be written");
        Self { place, repository }
    }

    fn regatta(&self, words: &str) -> Finished {
        let run = self.place.regatta(self.repository.root()).words(words).stdin("");
        run.env("OPENAI_API_KEY", "sk-canary").env("SOME_TOKEN", "t0k3n").run()
    }

    fn own_file(&self) -> PathBuf {
        self.place.home().config_file().with_file_name("mcp.json")
    }

    /// Returns the words of the server's command: it leaves a line in the file `started`.
    fn server(&self) -> [String; 3] {
        let file = |name: &str| self.place.folder().join(name).display().to_string();
        ["sh".to_owned(), file("server.sh"), file("started")]
    }

    fn starts(&self) -> usize {
        let text = fs::read_to_string(self.place.folder().join("started")).unwrap_or_default();
        text.lines().count()
    }

    /// Returns the name and the state of each server.
    fn states(&self) -> Vec<String> {
        let document = self.regatta("mcp --json").expect_code(0).json();
        let servers = document["servers"].as_array().expect("it is a list");
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        servers.iter().map(|it| format!("{} {}", text(&it["name"]), text(&it["state"]))).collect()
    }
}

#[test]
fn a_server_is_added_tested_disabled_and_removed_and_its_secrets_are_not_shown() {
    let world = World::new();
    let [shell, script, started] = world.server();
    let add = format!("mcp add files --env TOKEN=canary-value -- {shell} {script} {started}");
    let added = world.regatta(&add).expect_code(0);
    assert!(added.stderr.contains("added `files` to "), "{added}");
    let twice = world.regatta(&add).expect_code(1);
    assert!(twice.stderr.contains("regatta mcp remove files"), "{twice}");
    let listed = world.regatta("mcp").expect_code(0);
    let place = format!("{}:3", world.own_file().display());
    for words in [&format!("files  enabled  stdio      sh {script}"), &place] {
        assert!(listed.stdout.contains(words.as_str()), "{words}: {listed}");
    }
    assert_eq!(world.starts(), 0, "it was only listed");
    let shown = world.regatta("mcp show files").expect_code(0);
    assert!(shown.stdout.contains("variables: TOKEN=…"), "{shown}");
    for words in ["mcp show files", "mcp show files --json", "mcp --json"] {
        let said = world.regatta(words).expect_code(0).to_string();
        assert!(!said.contains("canary-value"), "{words}: {said}");
    }
    let tested = world.regatta("mcp test files").expect_code(0);
    assert!(
        tested.stdout.starts_with("files: canary 1.2, revision 2025-06-18, 1 tool in "),
        "{tested}"
    );
    assert!(tested.stdout.contains("\n  say  got canary-value none"), "no key: {tested}");
    assert_eq!(world.starts(), 1);
    let _disabled = world.regatta("mcp disable files").expect_code(0);
    assert_eq!(world.states(), ["files disabled"]);
    let _enabled = world.regatta("mcp enable files").expect_code(0);
    assert_eq!(world.states(), ["files enabled"]);
    let near = world.regatta("mcp show file").expect_code(1);
    assert!(near.stderr.contains("try: regatta mcp show files"), "{near}");
    let _removed = world.regatta("mcp remove files").expect_code(0);
    assert_eq!(world.states(), Vec::<String>::new());
    for (words, hint) in [
        ("mcp add x", "regatta mcp add x https://HOST/PATH"),
        ("mcp add x npx", "regatta mcp add x -- npx"),
        ("mcp add x --transport sse -- npx", "need a URL"),
        ("mcp add x/y https://h", "a name has 1 to 100 letters"),
        ("mcp remove x", "regatta mcp"),
        ("mcp add x https://h --header nonsense", "--header 'NAME: VALUE'"),
    ] {
        let refused = world.regatta(words).expect_code(1);
        assert!(refused.stderr.contains(hint), "{words}: {refused}");
    }
}

#[test]
fn a_server_that_cannot_be_used_is_an_error_with_what_it_said() {
    let world = World::new();
    for (command, why) in [
        ("sh -c 'echo gone wrong >&2; exit 3'", "gone wrong"),
        ("no-such-program-at-all", "no-such-program-at-all"),
    ] {
        let words = command.split_once(" -c ");
        let add = world.place.regatta(world.repository.root()).words("mcp add bad --");
        let add = match words {
            Some((shell, script)) => add.arg(shell).arg("-c").arg(script.trim_matches('\'')),
            None => add.arg(command),
        };
        let _added = add.run().expect_code(0);
        let tested = world.regatta("mcp test bad").expect_code(1);
        assert!(tested.stderr.contains("cannot use the MCP server `bad`"), "{tested}");
        assert!(tested.stderr.contains(why), "{tested}");
        let _removed = world.regatta("mcp remove bad").expect_code(0);
    }
}

#[test]
fn a_server_of_a_repository_or_of_another_program_starts_only_when_the_user_says_so() {
    let world = World::new();
    let [shell, script, started] = world.server();
    let entry = |token: &str| {
        let env = format!("{{ \"TOKEN\": \"{token}\" }}");
        format!(
            "{{ \"mcpServers\": {{ \"ours\": {{ \"command\": \"{shell}\", \
             \"args\": [\"{script}\", \"{started}\"], \"env\": {env} }} }} }}"
        )
    };
    world.repository.write(".regatta/mcp.json", entry("${SOME_TOKEN}"));
    world.repository.write(".mcp.json", entry("x").replace("\"ours\"", "\"theirs\""));
    world.repository.commit("servers");
    let states = |expected: [&str; 2]| {
        let mut states = world.states();
        states.sort();
        assert_eq!(states, expected);
    };
    states(["ours untrusted", "theirs offered"]);
    for name in ["ours", "theirs"] {
        let refused = world.regatta(&format!("mcp test {name}")).expect_code(1);
        assert!(refused.stderr.contains("regatta "), "{refused}");
    }
    assert_eq!(world.starts(), 0);
    let shown = world.regatta("trust --yes").expect_code(0);
    for words in [".regatta/mcp.json:1: mcp.ours", "$ sh ", "variables: TOKEN=${SOME_TOKEN}"] {
        assert!(shown.stdout.contains(words), "{words}: {shown}");
    }
    assert!(!shown.stdout.contains("theirs"), "{shown}");
    states(["ours enabled", "theirs offered"]);
    let tested = world.regatta("mcp test ours").expect_code(0);
    assert!(tested.stdout.contains("got t0k3n none"), "{tested}");
    let enabled = world.regatta("mcp enable theirs").expect_code(0);
    assert!(enabled.stderr.contains("regatta trust"), "{enabled}");
    states(["ours enabled", "theirs untrusted"]);
    let _trusted = world.regatta("trust --yes").expect_code(0);
    states(["ours enabled", "theirs enabled"]);
    // A key never reaches it, also after trust.
    world.repository.write(".regatta/mcp.json", entry("${OPENAI_API_KEY}"));
    states(["ours untrusted", "theirs enabled"]);
    let _trusted = world.regatta("trust --yes").expect_code(0);
    let started = world.starts();
    let refused = world.regatta("mcp test ours").expect_code(1);
    assert!(refused.stderr.contains("key of a model provider"), "{refused}");
    assert_eq!(world.starts(), started);
    let revoked = world.regatta("trust --revoke mcp.theirs").expect_code(0);
    assert!(revoked.stderr.contains("mcp.theirs"), "{revoked}");
    states(["ours enabled", "theirs untrusted"]);
}
