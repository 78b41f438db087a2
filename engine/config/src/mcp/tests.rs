//! What is read from the files of each program, and what is wrong with them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::data_paths::DataPaths;
use crate::secret::Secret;

/// A home and a repository.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.repo().join("deep/er")).unwrap();
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn repo(&self) -> PathBuf {
        self.path("repo")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn places(&self) -> DataPaths {
        let home = self.path("home");
        DataPaths::resolve(|name| (name == "HOME").then(|| home.clone().into())).unwrap()
    }

    fn catalog(&self) -> ServerCatalog {
        let (root, folder) = (self.repo(), self.repo().join("deep/er"));
        discover(&self.places(), (&root, &folder), Sought::All)
    }
}

/// Returns a server in one line, with its secrets.
fn said(entry: &ServerEntry) -> String {
    let values = |values: &BTreeMap<String, Secret>| {
        let value = |(name, value): (&String, &Secret)| format!(" {name}={}", value.expose());
        values.iter().map(value).collect::<String>()
    };
    let address = match &entry.address {
        ServerAddress::Program { command, arguments, environment, folder } => {
            let folder = folder.as_ref().map(|it| format!(" in {it}")).unwrap_or_default();
            format!("$ {command} {}{}{folder}", arguments.join(" "), values(environment))
        }
        ServerAddress::Url { kind, url, headers } => format!("{kind:?} {url}{}", values(headers)),
    };
    let off = if entry.is_enabled { "" } else { " off" };
    format!("{}: {}{off}", entry.name, address.trim_end())
}

const HOME: &str = "home/.config/regatta/mcp.json";

/// Files, each with what is read from it.
const FILES: &[(&str, &str, &str)] = &[
    (
        HOME,
        "{ // mine\n \"mcpServers\": { \"own\": { \"command\": \"srv\", \"args\": [\"-p\", 80], \"env\": { \"T\": \"!pass\" }, } } }",
        "own: $ srv -p 80 T=!pass",
    ),
    (
        "repo/.regatta/mcp.json",
        "\u{feff}{ \"mcpServers\": { \"p\": { \"type\": \"http\", \"url\": \"https://h/mcp\" } } }",
        "p: Http https://h/mcp",
    ),
    (
        "home/.omp/agent/mcp.json",
        "{ \"mcpServers\": { \"omp\": { \"url\": \"https://o\", \"enabled\": false } } }",
        "omp: Http https://o off",
    ),
    (
        "home/.claude.json",
        "{ \"history\": [\"\\ud83d\\ude00\"], \"mcpServers\": { \"c\": { \"type\": \"sse\", \"url\": \"https://c\", \"headers\": { \"X\": \"${K:-d}\" } } } }",
        "c: Sse https://c X=${K:-d}",
    ),
    (
        "repo/.mcp.json",
        "{ \"mcpServers\": { \"r\": { \"command\": \"npx\", \"args\": [\"-y\", \"x\"], \"env\": {} } } }",
        "r: $ npx -y x",
    ),
    (
        "home/.codex/config.toml",
        "model = 'x'\n[mcp_servers.t]\ncommand = 'uvx'\nargs = ['x']\nenv_vars = ['TOKEN']\ncwd = '/w'\nstartup_timeout_sec = 2.5\ntool_timeout_sec = 9\nenabled_tools = ['a']",
        "t: $ uvx x TOKEN=${TOKEN:-} in /w",
    ),
    (
        "repo/.codex/config.toml",
        "[mcp_servers.u]\nurl = 'https://u'\nbearer_token_env_var = 'B'\nhttp_headers = { A = '1' }\nenv_http_headers = { C = 'D' }",
        "u: Http https://u A=1 Authorization=Bearer ${B} C=${D}",
    ),
    (
        "home/.gemini/settings.json",
        "{ \"mcpServers\": { \"g\": { \"url\": \"https://sse\", \"trust\": true } } }",
        "g: Sse https://sse",
    ),
    (
        "repo/.gemini/settings.json",
        "{ \"mcpServers\": { \"h\": { \"httpUrl\": \"https://h\", \"timeout\": 5000, \"excludeTools\": [\"x\"] } } }",
        "h: Http https://h",
    ),
    (
        "repo/opencode.json",
        "{ \"mcp\": { \"o\": { \"type\": \"local\", \"command\": [\"bun\", \"x\"], \"environment\": { \"A\": \"{env:B}\" } } } }",
        "o: $ bun x A={env:B}",
    ),
    (
        "home/.config/opencode/opencode.jsonc",
        "{ \"mcp\": { \"ro\": { \"type\": \"remote\", \"url\": \"https://ro\", \"enabled\": false } } }",
        "ro: Http https://ro off",
    ),
    (
        "repo/.cursor/mcp.json",
        "{ \"mcpServers\": { \"k\": { \"command\": \"node\", \"args\": [\"${workspaceFolder}/s.js\"] } } }",
        "k: $ node ${workspaceFolder}/s.js",
    ),
    (
        "home/.codeium/windsurf/mcp_config.json",
        "{ \"mcpServers\": { \"w\": { \"serverUrl\": \"https://w\", \"disabled\": true } } }",
        "w: Http https://w off",
    ),
    (
        "repo/.vscode/mcp.json",
        "{ \"servers\": { \"v\": { \"type\": \"stdio\", \"command\": \"v\" } }, \"mcp\": { \"servers\": { \"v2\": { \"command\": \"v2\" } } } }",
        "v: $ v; v2: $ v2",
    ),
    ("repo/mcp.json", "{ \"mcpServers\": { \"m\": { \"command\": \"m\" } } }", "m: $ m"),
];

#[test]
fn the_servers_of_each_program_are_read_in_the_order_of_precedence() {
    let all = World::new();
    for (path, text, expected) in FILES {
        let world = World::new();
        for world in [&world, &all] {
            world.write(path, text);
        }
        let catalog = world.catalog();
        let servers: Vec<_> = catalog.entries.iter().map(said).collect();
        assert_eq!((&*servers.join("; "), catalog.warnings), (*expected, Vec::new()), "{path}");
        let place = &catalog.entries[0].place;
        let is_of_project = place.level == ServerLevel::Project;
        assert_eq!(
            (place.file == world.path(path), is_of_project),
            (true, path.starts_with("repo"))
        );
    }
    let names: Vec<_> = all.catalog().entries.into_iter().map(|entry| entry.name).collect();
    let order =
        ["own", "p", "omp", "c", "r", "t", "u", "g", "h", "ro", "o", "k", "w", "v", "v2", "m"];
    assert_eq!(names, order);
}

#[test]
fn what_a_server_may_do_is_read_with_its_units() {
    let world = World::new();
    let text = "{ \"mcpServers\": { \"a\": { \"command\": \"a\", \"required\": true, \"startupTimeout\": 1500,
        \"timeout\": 60000, \"protocol\": \"2025-06-18\", \"scope\": \"workspace\", \"concurrency\": 2,
        \"tools\": { \"allow\": [\"x\"], \"deny\": [\"y\"] }, \"trustReadOnlyHint\": true, \"timout\": 1 } } }";
    world.write(HOME, text);
    world.write("repo/.regatta/mcp.json", text.replace("\"a\": {", "\"b\": {"));
    world.write("home/.codex/config.toml", FILES[5].1);
    let catalog = world.catalog();
    let [own, of_project, of_codex] = catalog.entries.as_slice() else { panic!("{catalog:?}") };
    assert!(own.is_required && own.trusts_read_only_hints && !of_project.trusts_read_only_hints);
    assert_eq!(own.startup_timeout, Some(Duration::from_millis(1_500)));
    assert_eq!((own.timeout, own.scope), (Some(Duration::from_secs(60)), ServerScope::Workspace));
    assert_eq!(
        (own.protocol.as_deref(), own.concurrency.map(usize::from)),
        (Some("2025-06-18"), Some(2))
    );
    let tools = (own.allowed_tools.clone(), own.denied_tools.clone());
    assert_eq!(tools, (Some(["x".to_owned()].into()), ["y".to_owned()].into()));
    assert_eq!(of_codex.startup_timeout, Some(Duration::from_millis(2_500)));
    assert_eq!(of_codex.timeout, Some(Duration::from_secs(9)));
    let warnings: Vec<_> = catalog.warnings.iter().map(ToString::to_string).collect();
    let place = world.path(HOME);
    let unknown = "there is no key `mcpServers.a.timout`; did you mean `timeout`?";
    assert_eq!(warnings[0], format!("{}:3: {unknown}", place.display()));
}

/// Entries that are wrong, each with what is said about them.
const WRONG: &[(&str, &str)] = &[
    ("\"\": { \"command\": \"x\" }", "a name has 1 to 100 letters"),
    ("\"a b\": { \"command\": \"x\" }", "a name has 1 to 100 letters"),
    ("\"a\": 7", "`mcpServers.a` must be a mapping"),
    ("\"a\": {}", "it has neither a `command` nor a `url`"),
    ("\"a\": { \"command\": \"x\", \"url\": \"https://x\" }", "it has a command and a URL"),
    ("\"a\": { \"type\": \"stdio\", \"url\": \"https://x\" }", "its type needs a `command`"),
    ("\"a\": { \"type\": \"http\", \"command\": \"x\" }", "its type needs a `url`"),
    (
        "\"a\": { \"type\": \"ws\", \"url\": \"ws://x\" }",
        "its `type` must be `stdio`, `http` or `sse`",
    ),
    ("\"a\": { \"command\": 7 }", "`mcpServers.a.command` must be a text or a list of texts"),
    ("\"a\": { \"command\": \" \" }", "`mcpServers.a.command` must be the name of a program"),
    ("\"a\": { \"command\": \"x\", \"args\": \"-y\" }", "`mcpServers.a.args` must be a list"),
    ("\"a\": { \"command\": \"x\", \"args\": [[]] }", "`mcpServers.a.args` must be a list"),
    (
        "\"a\": { \"command\": \"x\", \"env\": [\"A=canary\"] }",
        "`mcpServers.a.env` must be a mapping",
    ),
    (
        "\"a\": { \"command\": \"x\", \"env\": { \"A=B\": \"canary\" } }",
        "`mcpServers.a.env` must be",
    ),
    ("\"a\": { \"command\": \"x\\u0000\" }", "`mcpServers.a.command` must be"),
    (
        "\"a\": { \"url\": \"https://x\", \"headers\": { \"A B\": \"canary\" } }",
        "`mcpServers.a.headers` must",
    ),
    ("\"a\": { \"url\": \"${input:canary}\" }", "`mcpServers.a.url` asks for an input"),
    (
        "\"a\": { \"command\": \"x\", \"timeout\": 0 }",
        "`mcpServers.a.timeout` must be a number of milli",
    ),
    (
        "\"a\": { \"command\": \"x\", \"timeout\": -1.5 }",
        "`mcpServers.a.timeout` must be a number of milli",
    ),
    (
        "\"a\": { \"command\": \"x\", \"startup_timeout_sec\": 1e9 }",
        "`mcpServers.a.startup_timeout_sec`",
    ),
    (
        "\"a\": { \"command\": \"x\", \"concurrency\": 0 }",
        "`mcpServers.a.concurrency` must be a whole",
    ),
    (
        "\"a\": { \"command\": \"x\", \"scope\": \"all\" }",
        "`mcpServers.a.scope` must be `shared` or",
    ),
    (
        "\"a\": { \"command\": \"x\", \"protocol\": 1 }",
        "`mcpServers.a.protocol` must be a revision",
    ),
    (
        "\"a\": { \"command\": \"x\", \"enabled\": \"yes\" }",
        "`mcpServers.a.enabled` must be `true`",
    ),
    (
        "\"a\": { \"command\": \"x\", \"tools\": { \"allow\": 1 } }",
        "`mcpServers.a.tools.allow` must be",
    ),
];

#[test]
fn a_wrong_entry_is_named_with_its_line_and_costs_nothing_else() {
    for (entry, why) in WRONG {
        let world = World::new();
        let text = format!(
            "{{ \"mcpServers\": {{\n\"first\": {{ \"command\": \"f\" }},\n{entry},\n\"last\": {{ \"command\": \"l\" }} }} }}"
        );
        let file = world.write(HOME, text);
        let catalog = world.catalog();
        let names: Vec<_> = catalog.entries.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(names, ["first", "last"], "{entry}");
        let [warning] = catalog.warnings.as_slice() else { panic!("{entry}: {catalog:?}") };
        let said = warning.to_string();
        assert!(said.starts_with(&format!("{}:3: the server `", file.display())), "{said}");
        assert!(said.contains(why) && !said.contains("canary"), "{entry}: {said}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_count() {
    let world = World::new();
    world.write("repo/mcp.json", FILES[14].1);
    let outside = world.write("outside.json", FILES[14].1);
    symlink(&outside, world.repo().join(".mcp.json")).unwrap();
    world.write("repo/.cursor/mcp.json", vec![b' '; 1_000_001]);
    world.write("repo/.omp/mcp.json", [0xff, 0xfe, 0x00]);
    world.write("repo/.gemini/settings.json", "{\n\"mcpServers\": [canary] }");
    world.write("home/.cursor/mcp.json", "{ \"mcpServers\": 3 }");
    fs::create_dir_all(world.repo().join("opencode.json")).unwrap();
    let catalog = world.catalog();
    assert_eq!(catalog.entries.iter().map(said).collect::<Vec<_>>(), ["m: $ m"]);
    let said: Vec<_> = catalog.warnings.iter().map(|it| (it.line, it.message.as_str())).collect();
    assert_eq!(said.len(), 6, "{said:?}");
    for (line, why) in [
        (None, "it is skipped: it is a link out of the repository"),
        (None, "it is skipped: it is larger than 1 MB"),
        (Some(2), "it is skipped: it is not valid JSON"),
        (Some(1), "`mcpServers` must be an object of names and servers; it is skipped"),
        (None, "it is skipped: it cannot be read: it is not a regular file"),
    ] {
        assert!(said.contains(&(line, why)), "{why}: {said:?}");
    }
}

#[test]
fn a_project_is_found_from_its_folders_and_is_not_the_home_of_the_user() {
    let world = World::new();
    world.write("repo/.mcp.json", FILES[4].1);
    world.write("repo/deep/.mcp.json", FILES[4].1.replace("\"r\"", "\"near\""));
    let repo = world.repo().display().to_string();
    let state = json!({ "projects": { repo: { "mcpServers": { "l": { "command": "l" } } } } });
    world.write("home/.claude.json", state.to_string());
    let names: Vec<_> =
        world.catalog().entries.into_iter().map(|it| (it.name, it.place.level)).collect();
    let expected = [("l", ServerLevel::User), ("near", ServerLevel::Project)];
    assert_eq!(names, expected.map(|(name, level)| (name.to_owned(), level)));
    world.write("home/.cursor/mcp.json", FILES[11].1);
    let home = world.path("home");
    let levels: Vec<_> = discover(&world.places(), (&home, &home), Sought::All).entries;
    assert_eq!(levels.iter().map(|it| it.place.level).collect::<Vec<_>>(), [ServerLevel::User]);
}

#[test]
fn a_change_of_the_users_file_keeps_remarks_and_unknown_keys_and_is_private() {
    let world = World::new();
    let path = world.places().mcp_file();
    let file = ServerFile::of_user(path.clone());
    assert!(file.add("new", &json!({ "command": "n" })).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let remarks = "{\n  // mine\n  \"other\": 1, \"mcpServers\": {\n    \"a\": { \"command\": \"a\", \"enabled\": false }, // a\n  }\n}\n";
    fs::write(&path, remarks).unwrap();
    assert!(!file.add("a", &json!({ "command": "b" })).unwrap());
    assert!(file.disable("gone").unwrap() && !file.disable("gone").unwrap());
    assert!(file.enable("a", None).unwrap());
    let other = EnabledServer { name: "c".into(), source: "/f".into(), definition: "d".into() };
    assert!(file.enable("c", Some(&other)).unwrap() && !file.enable("c", Some(&other)).unwrap());
    let catalog = world.catalog();
    assert_eq!(catalog.entries.iter().map(said).collect::<Vec<_>>(), ["a: $ a"]);
    assert_eq!((catalog.enabled, catalog.disabled), (vec![other], ["gone".to_owned()].into()));
    assert!(file.enable("gone", None).unwrap());
    assert!(file.remove("a").unwrap() && !file.remove("a").unwrap());
    let text = fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("// mine") && text.contains("// a") && text.contains("\"other\": 1"),
        "{text}"
    );
    assert_eq!(world.catalog().disabled.len() + world.catalog().entries.len(), 0, "{text}");
    fs::write(&path, "{\n\"mcpServers\": [] }").unwrap();
    let error = file.add("x", &json!({})).unwrap_err().to_string();
    assert_eq!(error, format!("{}:2: `mcpServers` is not an object", path.display()));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\n\"mcpServers\": [] }");
}

#[test]
fn nothing_that_is_printed_of_a_server_shows_its_values() {
    let world = World::new();
    world.write(HOME, "{ \"mcpServers\": { \"a\": { \"command\": \"x\", \"env\": { \"A\": \"canary\" } }, \"b\": { \"url\": \"https://x\", \"headers\": { \"A\": \"canary\" } } } }");
    let catalog = world.catalog();
    assert_eq!(catalog.entries.len(), 2);
    assert!(!format!("{catalog:?}").contains("canary"));
}
