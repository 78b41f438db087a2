//! Which servers are used, and with which values.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use config::DataPaths;
use config::mcp::{EnabledServer, ServerFile, Sought, discover};
use engine::ports::{McpDefinition, McpHints, McpScope, McpTransport};

use super::resolve::Resolver;
use super::values::Values;
use super::*;
use crate::model::UserModels;
use crate::trust::project_settings;

/// A user and a repository without a commit.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.root()).unwrap();
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn root(&self) -> PathBuf {
        self.path("repo")
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn places(&self) -> DataPaths {
        let home = self.path("home");
        DataPaths::resolve(|name| (name == "HOME").then(|| home.clone().into())).unwrap()
    }

    fn trust(&self) {
        let project = project_settings(&self.places(), Some(&self.root())).unwrap();
        project.trust(&self.places()).unwrap();
    }

    fn servers(&self) -> McpServers {
        McpServers::find(&self.places(), &self.root()).unwrap()
    }

    /// Returns each server in a line: its name, its state, and whether it is of the user or the project.
    fn states(&self) -> Vec<String> {
        let line = |it: &ListedServer| {
            format!("{} {} {:?}", it.entry.name, it.state.as_str(), it.entry.place.program)
        };
        self.servers().servers.iter().map(line).collect()
    }

    /// Returns the definition of the first server of a name, in an environment with these variables.
    async fn definition(&self, name: &str) -> Result<McpDefinition, String> {
        let (places, root) = (self.places(), self.root());
        let catalog = discover(&places, (&root, &root), Sought::All);
        let entry = catalog.entries.into_iter().find(|entry| entry.name == name).unwrap();
        let variables = VARIABLES.map(|(name, value)| (name.into(), OsString::from(value)));
        let home = self.path("home");
        let values = Values::new(variables, ["MINE".to_owned()], &root, Some(&home));
        let user = UserModels::new(&places);
        let resolver = Resolver { values, removed: &["LANG".to_owned()], user: &user };
        resolver.definition(&entry).await
    }
}

const VARIABLES: [(&str, &str); 7] = [
    ("PATH", "/bin"),
    ("LANG", "C"),
    ("OPENAI_API_KEY", "sk-canary-1"),
    ("MINE", "sk-canary-2"),
    ("COPY", "sk-canary-1"),
    ("TOKEN", "t0k3n"),
    ("GITHUB_TOKEN", "gh"),
];

const OWN: &str = "home/.config/regatta/mcp.json";

fn server(name: &str, rest: &str) -> String {
    format!("{{ \"mcpServers\": {{ \"{name}\": {{ {rest} }} }} }}")
}

const TRUE: &str = "\"command\": \"true\"";

#[test]
fn a_server_is_used_if_the_user_wrote_enabled_or_trusts_it() {
    let world = World::new();
    world.write(OWN, &server("mine", TRUE));
    world.write("repo/.regatta/mcp.json", &server("ours", TRUE));
    let cursor = world.write("home/.cursor/mcp.json", &server("other", TRUE));
    let all = |[mine, ours, other]: [&str; 3]| {
        let lines =
            [("mine", mine, "Regatta"), ("other", other, "Cursor"), ("ours", ours, "Regatta")];
        let mut lines = lines.map(|(name, state, program)| format!("{name} {state} {program}"));
        lines.sort();
        lines.to_vec()
    };
    let states = || {
        let mut states = world.states();
        states.sort();
        states
    };
    assert_eq!(states(), all(["enabled", "untrusted", "offered"]));
    world.trust();
    assert_eq!(states(), all(["enabled", "enabled", "offered"]));
    let own = ServerFile::of_user(world.places().mcp_file());
    let servers = world.servers();
    let offered = servers.servers.iter().find(|it| it.entry.name == "other").unwrap();
    let enabled = EnabledServer {
        name: "other".to_owned(),
        source: cursor.display().to_string(),
        definition: offered.definition_digest(),
    };
    assert!(own.enable("other", Some(&enabled)).unwrap());
    assert_eq!(states(), all(["enabled", "enabled", "enabled"]));
    // A changed definition is another one.
    world.write("home/.cursor/mcp.json", &server("other", "\"command\": \"false\""));
    world.write(
        "repo/.regatta/mcp.json",
        &server("ours", "\"command\": \"true\", \"args\": [\"x\"]"),
    );
    assert_eq!(states(), all(["enabled", "untrusted", "offered"]));
    let changed: Vec<_> =
        world.servers().servers.iter().filter_map(|it| it.state.why().map(str::to_owned)).collect();
    assert!(changed.iter().all(|why| why.contains("has changed since you ")), "{changed:?}");
    assert!(own.disable("mine").unwrap());
    world.write("home/.config/regatta/config.yml", "mcp.foreign: on\n");
    assert_eq!(states(), all(["disabled", "untrusted", "enabled"]));
}

#[test]
fn a_server_of_a_repository_replaces_none_of_the_user_before_it_is_trusted() {
    let world = World::new();
    world.write("home/.config/regatta/config.yml", "mcp.foreign: on\n");
    world.write("repo/.regatta/mcp.json", &server("x", TRUE));
    world.write("repo/.mcp.json", &server("x", TRUE));
    world.write("home/.codex/config.toml", "[mcp_servers.x]\ncommand = 'mine'\n");
    let untrusted = ["x enabled Codex", "x shadowed Regatta", "x shadowed Claude"];
    assert_eq!(world.states(), untrusted);
    world.trust();
    assert_eq!(world.states(), ["x enabled Regatta", "x shadowed Claude", "x shadowed Codex"]);
    world.write(OWN, &server("x", TRUE));
    assert_eq!(world.states()[0], "x enabled Regatta");
    assert!(world.servers().servers[0].entry.place.is_own());
}

#[test]
fn what_a_server_of_a_repository_runs_ends_the_trust_when_it_changes() {
    let world = World::new();
    world.write("repo/serve.sh", "true\n");
    world.write(
        "repo/.regatta/mcp.json",
        &server("x", "\"command\": \"sh\", \"args\": [\"serve.sh\"]"),
    );
    world.trust();
    assert_eq!(world.states(), ["x enabled Regatta"]);
    world.write("repo/serve.sh", "false\n");
    assert_eq!(world.states(), ["x untrusted Regatta"]);
    // Node may run any file, and there is no commit.
    world.write("repo/.regatta/mcp.json", &server("x", "\"command\": \"node\""));
    let project = project_settings(&world.places(), Some(&world.root())).unwrap();
    let error = project.trust(&world.places()).unwrap_err();
    assert_eq!(error.what, "cannot trust `mcp.x`");
    let warnings = project.warnings("regatta trust");
    assert!(warnings[0].contains("mcp.json:1: `mcp.x` does not count"), "{warnings:?}");
}

#[test]
async fn a_program_gets_its_own_variables_and_those_of_every_program() {
    let world = World::new();
    let env = "\"env\": { \"A\": \"${TOKEN}\", \"B\": \"TOKEN\", \"C\": \"plain\", \"D\": \"! echo ' said '\", \
               \"KEY\": \"${OPENAI_API_KEY}\" }";
    world.write(
        OWN,
        &server("x", &format!("\"command\": \"~/run\", \"args\": [\"${{TOKEN}}\"], {env}")),
    );
    let definition = world.definition("x").await.unwrap();
    let McpTransport::Stdio { command, arguments, environment, folder } = &definition.transport
    else {
        panic!("{definition:?}")
    };
    assert_eq!(Path::new(command), world.path("home/run"));
    assert_eq!((arguments.as_slice(), folder), (&[OsString::from("t0k3n")][..], &None));
    let expected = [
        ("A", "t0k3n"),
        ("B", "t0k3n"),
        ("C", "plain"),
        ("D", "said"),
        ("KEY", "sk-canary-1"),
        ("PATH", "/bin"),
    ];
    let expected = expected.map(|(name, value)| (name.into(), value.into()));
    assert_eq!(environment, &BTreeMap::<OsString, OsString>::from(expected));
    assert_eq!((definition.concurrency, definition.scope), (8, McpScope::Shared));
    assert_eq!(definition.read_only_hints, McpHints::Ignored);
    assert_eq!(definition.source, format!("{}:1", world.path(OWN).display()));
    // The key is about what runs, and not about a timeout.
    let of = async |rest: &str| {
        world.write(OWN, &server("x", rest));
        world.definition("x").await.unwrap().key
    };
    let key = of(TRUE).await;
    assert_eq!(of("\"command\": \"true\", \"timeout\": 5").await, key);
    assert_ne!(of("\"command\": \"true\", \"env\": { \"A\": \"1\" }").await, key);
    assert_ne!(of("\"command\": \"true\", \"scope\": \"workspace\"").await, key);
}

#[test]
async fn no_key_of_a_provider_reaches_a_server_of_a_repository() {
    let world = World::new();
    let path = "repo/.regatta/mcp.json";
    for value in [
        "${OPENAI_API_KEY}",
        "${MINE}",
        "${COPY}",
        "${env:OPENAI_API_KEY}",
        "${XAI_API_KEY:-}",
        "!env",
    ] {
        for rest in [
            format!("\"command\": \"x\", \"env\": {{ \"A\": \"{value}\" }}"),
            format!("\"url\": \"https://x\", \"headers\": {{ \"A\": \"Bearer {value}\" }}"),
            format!("\"command\": \"x\", \"args\": [\"{value}\"]"),
            format!("\"url\": \"https://x/?k={value}\""),
        ] {
            // Only a whole value is a command.
            if value == "!env" && !rest.contains("\"env\"") {
                continue;
            }
            world.write(path, &server("x", &rest));
            let error = world.definition("x").await.unwrap_err();
            assert!(!error.contains("canary"), "{error}");
        }
    }
    for value in ["OPENAI_API_KEY", "MINE", "COPY"] {
        let rest = format!(
            "\"command\": \"x\", \"env\": {{ \"A\": \"{value}\", \"T\": \"${{GITHUB_TOKEN}}\" }}"
        );
        world.write(path, &server("x", &rest));
        let definition = world.definition("x").await.unwrap();
        assert!(!format!("{definition:?}").contains("canary"), "{value}");
        let McpTransport::Stdio { environment, folder, .. } = definition.transport else {
            panic!()
        };
        assert_eq!(environment[&OsString::from("T")], "gh");
        assert_eq!(folder, Some(world.root()), "a program of a project works at its root");
    }
}

#[test]
async fn an_address_has_its_headers_and_what_cannot_be_one_is_left_out() {
    let world = World::new();
    world.write(
        OWN,
        &server(
            "x",
            "\"url\": \"https://x/${TOKEN}\", \"headers\": { \"A\": \"Bearer ${TOKEN}\" }",
        ),
    );
    let headers = BTreeMap::from([("A".to_owned(), "Bearer t0k3n".to_owned())]);
    let expected = McpTransport::Http { url: "https://x/t0k3n".to_owned(), headers };
    assert_eq!(world.definition("x").await.unwrap().transport, expected);
    for (rest, why) in [
        ("\"url\": \"ftp://x/canary?k=canary\"", "`url` must begin with `https://`"),
        ("\"url\": \"https:///\"", "`url` must begin with"),
        ("\"url\": \"https://x y\"", "`url` must begin with"),
        ("\"url\": \"https://${NONE}\"", "`url`: the variable `NONE` is not set"),
        ("\"url\": \"https://x\", \"headers\": { \"A\": \"canary\\n\" }", "`headers.A` cannot be"),
        ("\"command\": \"x\", \"env\": { \"A\": \"!exit 3\" }", "`env.A`: its command failed"),
        ("\"command\": \"x\", \"cwd\": \"${NONE}\"", "`cwd`: the variable `NONE` is not set"),
    ] {
        world.write(OWN, &server("x", rest));
        let error = world.definition("x").await.unwrap_err();
        assert!(error.starts_with(why) && !error.contains("k=canary"), "{rest}: {error}");
    }
}

#[test]
async fn a_relative_path_is_meant_from_the_root_of_the_project() {
    let world = World::new();
    let root = world.root();
    for (rest, expected) in [
        ("\"command\": \"x\", \"args\": [\".\"]", Some(root.clone())),
        ("\"command\": \"./x\"", Some(root.clone())),
        ("\"command\": \"x\", \"cwd\": \"below\"", Some(root.join("below"))),
        ("\"command\": \"x\", \"cwd\": \"/tmp\"", Some(PathBuf::from("/tmp"))),
        ("\"command\": \"x\", \"args\": [\"${workspaceFolder}\"]", None),
    ] {
        world.write(OWN, &server("x", rest));
        let McpTransport::Stdio { folder, arguments, .. } =
            world.definition("x").await.unwrap().transport
        else {
            panic!("{rest}")
        };
        assert_eq!(folder, expected, "{rest}");
        assert!(!format!("{arguments:?}").contains("workspaceFolder"));
    }
}
