//! Agents are found where people have them, and what is wrong with their files is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use protocol::{
    AgentCatalog, AgentDefinition, AgentFamily, AgentSource, AgentWarning, Spawns, ThinkingLevel,
};
use serde_json::json;
use tempfile::TempDir;

use super::{AgentFiles, discover};
use crate::data_paths::DataPaths;

/// A home and a repository.
struct World {
    folder: TempDir,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("repo/crates/deep")).unwrap();
        Self { folder }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn repo(&self) -> PathBuf {
        self.folder.path().join("repo")
    }

    fn places(&self) -> DataPaths {
        let home = self.folder.path().join("home");
        DataPaths::resolve(|name| (name == "HOME").then(|| home.clone().into())).unwrap()
    }

    fn agents(&self) -> AgentCatalog {
        discover(&self.places(), &self.repo(), &self.repo().join("crates/deep"))
    }

    /// Returns the agent that a file is, or why it is skipped.
    fn agent(&self, text: &str) -> Result<AgentDefinition, AgentWarning> {
        self.write("repo/.regatta/agents/it.md", text);
        let mut catalog = self.agents();
        match catalog.warnings.pop() {
            Some(warning) => Err(warning),
            None => Ok(catalog.agents.remove(0)),
        }
    }
}

fn file(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does it.\n---\nDo it.\n")
}

fn messages(warnings: &[AgentWarning]) -> Vec<(Option<u64>, &str)> {
    warnings.iter().map(|warning| (warning.line, warning.message.as_str())).collect()
}

#[test]
fn the_bundled_agents_are_sound() {
    let catalog = World::new().agents();
    let names: Vec<_> = catalog.agents.iter().map(|agent| agent.name.as_str()).collect();
    assert_eq!(
        names,
        ["explore", "plan", "designer", "reviewer", "task", "quick_task", "librarian"]
    );
    for agent in &catalog.agents {
        assert_eq!(agent.warnings, [], "{}", agent.name);
        assert!(!agent.prompt.is_empty() && agent.prompt.len() < 2_000, "{}", agent.name);
        assert!(agent.description.len() < 250, "{}", agent.name);
        assert_eq!((agent.source, agent.family), (AgentSource::Bundled, None));
    }
    let prompt = |name| &catalog.find(name).unwrap().prompt;
    assert_eq!(prompt("task"), prompt("quick_task"));
}

#[test]
fn the_nearest_folder_of_each_family_counts_and_then_that_of_the_user() {
    let world = World::new();
    for (path, name) in [
        ("repo/.claude/agents/far.md", "far"),
        ("repo/crates/.claude/agents/near.md", "near"),
        ("repo/.omp/agents/both.md", "both"),
        ("repo/.regatta/agents/b.md", "both"),
        ("repo/.regatta/agents/a.md", "explore"),
        ("home/.config/regatta/agents/own.md", "own"),
        ("home/.omp/agent/agents/omp.md", "omp"),
        ("home/.pi/agent/agents/pi.md", "pi"),
        ("home/.claude/agents/near.md", "near"),
        ("home/.codex/agents/codex.md", "codex"),
        ("home/.gemini/agents/gemini.md", "gemini"),
        (".claude/agents/above.md", "above"),
    ] {
        world.write(path, file(name));
    }
    let catalog = world.agents();
    let written = |agents: &[AgentDefinition]| -> Vec<_> {
        let own = agents.iter().filter(|agent| agent.source != AgentSource::Bundled);
        own.map(|agent| (agent.name.clone(), agent.source, agent.family.unwrap())).collect()
    };
    let (project, user) = (AgentSource::Project, AgentSource::User);
    let expected = [
        ("explore", project, AgentFamily::Regatta),
        ("both", project, AgentFamily::Regatta),
        ("own", user, AgentFamily::Regatta),
        ("omp", user, AgentFamily::Omp),
        ("pi", user, AgentFamily::Pi),
        ("near", project, AgentFamily::Claude),
        ("codex", user, AgentFamily::Codex),
        ("gemini", user, AgentFamily::Gemini),
    ];
    assert_eq!(
        written(&catalog.agents),
        expected.map(|(name, source, family)| (name.to_owned(), source, family))
    );
    let expected = [("both", project, AgentFamily::Omp), ("near", user, AgentFamily::Claude)];
    assert_eq!(
        written(&catalog.shadowed),
        expected.map(|(name, source, family)| (name.to_owned(), source, family))
    );
    assert_eq!(catalog.shadowed.len(), 3, "the bundled explore is shadowed, too");
}

#[test]
fn in_the_home_of_the_user_the_agents_are_those_of_the_user() {
    let world = World::new();
    world.write("home/.claude/agents/mine.md", file("mine"));
    let home = world.folder.path().join("home");
    let catalog = discover(&world.places(), &home, &home);
    let mine = catalog.find("mine").unwrap();
    assert_eq!((mine.source, catalog.shadowed.len()), (AgentSource::User, 0));
}

#[test]
fn a_file_is_read_again_when_it_has_changed() {
    let world = World::new();
    let files = AgentFiles::default();
    let now = || files.discover(&world.places(), &world.repo(), &world.repo());
    assert_eq!(now().find("late"), None);
    let path = world.write("repo/.regatta/agents/it.md", file("late"));
    assert!(now().find("late").is_some());
    assert!(now().find("late").is_some(), "it is known");
    world.write("repo/.regatta/agents/it.md", file("renamed"));
    assert_eq!((now().find("late"), now().find("renamed").is_some()), (None, true));
    fs::remove_file(path).unwrap();
    assert_eq!(now().find("renamed"), None);
}

#[test]
fn front_matter_is_read_as_people_write_it() {
    let world = World::new();
    let plain =
        "---\nname: it\ndescription: Use it\ntools: Read, Grep\nspawns: a, b\n---\nDo it.\n";
    let expected = world.agent(plain).unwrap();
    assert_eq!(expected.tools.as_deref(), Some(&["read".to_owned(), "grep".to_owned()][..]));
    assert_eq!(expected.spawns, Spawns::Only(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(expected.prompt, "Do it.");
    for same in [
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        plain.replace("name:", "Name:").replace("description:", "DESCRIPTION:"),
        plain.replace("Read, Grep", "[Read, Grep]"),
        plain.replace(" Read, Grep", "\n  - Read\n  - Grep"),
        plain.replace("Read, Grep", "Read Grep"),
        plain.replace("---\nDo", "---   \n\n\nDo"),
    ] {
        let agent = world.agent(&same).unwrap();
        assert_eq!(agent, expected, "{same:?}");
    }
}

#[test]
fn a_colon_in_a_text_is_part_of_it() {
    let world = World::new();
    let text = "---\nname: it\ndescription: Use it so: when\n\n<example>\nContext: x # y\n</example>\n\
                tools: Read\noutput:\n  properties: { a: { type: string } }\n---\nDo it.\n";
    let agent = world.agent(text).unwrap();
    assert_eq!(agent.description, "Use it so: when\n\n<example>\nContext: x # y\n</example>");
    assert_eq!(agent.output, Some(json!({ "properties": { "a": { "type": "string" } } })));
    assert_eq!(agent.warnings, []);
    let text = "---\nname: it\ndescription: Use: it\nbad: [\ntools:\n  - Read\n---\nDo it.\n";
    let agent = world.agent(text).unwrap();
    assert_eq!((&*agent.description, agent.tools), ("Use: it", Some(vec!["read".to_owned()])));
    let said = messages(&agent.warnings);
    assert!(said[0].1.starts_with("its front matter is not YAML, and is read line by line: "));
    assert_eq!(said[1], (Some(4), "unknown field `bad`"));
}

#[test]
fn what_is_wrong_with_a_field_is_said_with_its_line() {
    let world = World::new();
    let text = "---\nname: it\ndescription: Use it.\ntool: read\ntools: Read, Teleport, Bash(git:*)\n\
                maxTurns: none\nthinking: hard\nisolation: remote\nlimits:\n  wall: soon\n  turns: 9\n\
                apply: perhaps\noutput: 7\nmodel: { a: b }\n---\n";
    let agent = world.agent(text).unwrap();
    assert_eq!(
        messages(&agent.warnings),
        [
            (Some(4), "unknown field `tool`; did you mean `tools`?"),
            (Some(5), "there is no tool `Teleport`; it is left out"),
            (
                Some(5),
                "`Bash(git:*)` gives the whole tool bash; its calls follow the rules of the caller"
            ),
            (Some(6), "`maxTurns` must be a number of at least 1"),
            (Some(7), "`thinking` is off, minimal, low, medium, high or xhigh, not `hard`"),
            (Some(8), "`isolation` is worktree or none, not `remote`"),
            (Some(10), agent.warnings[6].message.as_str()),
            (Some(12), "`apply` must be true or false"),
            (Some(13), "`output` must be a schema"),
            (Some(14), "`model` must be a list of names"),
        ]
    );
    assert!(agent.warnings[6].message.starts_with("`limits.wall`: "));
    assert_eq!(agent.max_turns.map(u32::from), Some(9));
}

#[test]
fn a_file_that_is_no_agent_is_skipped_with_the_reason() {
    let world = World::new();
    for (text, line, why) in [
        ("Do it.", None, "it has no front matter between two lines `---`"),
        ("---\nname: it\n", None, "it has no front matter between two lines `---`"),
        ("---\ndescription: x\n---\n", None, "it has no `name`"),
        ("---\nname:\ndescription: x\n---\n", Some(2), "it has no `name`"),
        ("---\nname: it\n---\n", None, "it has no `description`"),
        ("---\nname: it\ndescription: x\nkind: remote\n---\n", Some(4), "agents on other servers"),
        ("---\nname: \"a\\eb\"\ndescription: x\n---\n", Some(2), "a name has at most 64"),
    ] {
        let warning = world.agent(text).unwrap_err();
        assert_eq!(warning.line, line, "{text:?}");
        assert!(warning.message.starts_with(&format!("it is skipped: {why}")), "{warning:?}");
        assert!(warning.path.ends_with(".regatta/agents/it.md"));
    }
    world.write("repo/.regatta/agents/README.md", "About agents.");
    world.write("repo/.regatta/agents/it.md", file("it"));
    assert_eq!(world.agents().warnings, []);
}

#[test]
fn a_file_that_cannot_be_an_agent_is_not_read() {
    let world = World::new();
    let outside = world.write("outside.md", file("outside"));
    world.write("repo/.claude/agents/a.md", file("inside"));
    let agents = world.repo().join(".claude/agents");
    symlink(&outside, agents.join("link.md")).unwrap();
    symlink("a.md", agents.join("z.md")).unwrap();
    symlink("/dev/zero", agents.join("zero.md")).unwrap();
    symlink("nowhere", agents.join("gone.md")).unwrap();
    fs::create_dir(agents.join("folder.md")).unwrap();
    world.write("repo/.claude/agents/huge.md", vec![b'x'; 1_000_001]);
    world.write("repo/.claude/agents/binary.md", [0, 159, 146, 150]);
    let catalog = world.agents();
    assert_eq!((catalog.find("outside"), catalog.find("inside").is_some()), (None, true));
    assert_eq!(catalog.shadowed.len(), 1, "a link inside of the repository is followed");
    let said: Vec<_> = catalog.warnings.iter().map(|it| name(&it.path)).collect();
    assert_eq!(said, ["binary.md", "gone.md", "huge.md", "link.md", "zero.md"]);
    assert_eq!(catalog.warnings[2].message, "it is skipped: it is larger than 1 MB");
    let link = "it is skipped: it is a link out of the repository";
    assert_eq!(catalog.warnings[3].message, link);
    assert_eq!(catalog.warnings[4].message, link);
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn a_folder_of_countless_files_is_read_up_to_a_limit() {
    let world = World::new();
    for number in 0..502 {
        world.write(&format!("repo/.pi/agents/{number:03}.md"), file(&number.to_string()));
    }
    let catalog = world.agents();
    assert!(catalog.find("499").is_some() && catalog.find("500").is_none());
    assert_eq!(
        messages(&catalog.warnings),
        [(None, "more than 500 files; the others are skipped")]
    );
}

#[test]
fn a_level_of_thinking_stands_in_a_field_or_behind_the_model_of_the_caller() {
    let world = World::new();
    for (fields, models, thinking) in [
        ("model: inherit", &[][..], None),
        ("model: pi/task:high, sonnet", &[], Some(ThinkingLevel::High)),
        (
            "model: pi/smol, haiku\nthinking-level: low",
            &["smol", "haiku"],
            Some(ThinkingLevel::Low),
        ),
        ("model: inherit:low\neffort: max", &[], Some(ThinkingLevel::XHigh)),
        ("model: [gpt-5:high, Claude Sonnet 4]", &["gpt-5:high", "Claude Sonnet 4"], None),
    ] {
        let text = format!("---\nname: it\ndescription: x\n{fields}\n---\n");
        let agent = world.agent(&text).unwrap();
        assert_eq!(
            (&agent.models[..], agent.thinking),
            (&models.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>()[..], thinking),
            "{fields}"
        );
    }
}

#[test]
fn no_text_makes_reading_panic() {
    let world = World::new();
    let pieces = [
        "---\n",
        "---",
        "name: it\n",
        "description: x\n",
        "tools: [",
        "]",
        "- a\n",
        ":",
        " ",
        "\n",
        "limits:\n",
        "  wall: 1m\n",
        "output: {",
        "}",
        "\"",
        "'",
        "|\n",
        "model: a:high\n",
        "é\u{0}",
        "tools: Bash(((\n",
        "&a *a\n",
        "\r\n",
        "maxTurns: -1\n",
        "description:\nContext: y\n",
    ];
    let mut seed: u64 = 7;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut read = 0;
    for _ in 0..300 {
        let rest: String = (0..next(16)).map(|_| pieces[next(pieces.len())]).collect();
        let text = format!("---\nname: it\ndescription: x\n{rest}\n---\n");
        read += usize::from(world.agent(&text).is_ok());
    }
    assert!(read > 0);
}
