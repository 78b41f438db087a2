//! `regatta agents`: lists the agents to which a session can give tasks, or shows one.

use config::{DataPaths, nearest};
use engine::ports::Schemas as _;
use protocol::{AgentCatalog, AgentDefinition, AgentWarning, ExitCode};
use regatta::error::Error;
use regatta::trust::{project_root, settings_to_look};
use schema::JsonSchemas;

use super::context::{Out, print_json, write_text};
use super::dispatch::folder;
use super::note::note;
use crate::args::{AgentsArgs, Form, Globals};
use crate::render::{agent_notes, agent_table, agent_text, one_line, wrapped};

/// Lists the agents, or shows one.
///
/// # Errors
/// The agent does not exist, a setting is invalid, or standard output cannot be written.
pub fn run(globals: &Globals, args: &AgentsArgs, out: Out<'_>) -> Result<ExitCode, Error> {
    let places = DataPaths::of_this_process()?;
    let folder = folder(globals);
    let settings = settings_to_look(&places, Some(&folder))?.loaded.settings;
    let catalog = config::agents::discover(&places, &project_root(&folder), &folder);
    let catalog = catalog.without(&settings.disabled_agents.value);
    print(globals, args, with_checked_schemas(catalog), out)
}

fn print(
    globals: &Globals,
    args: &AgentsArgs,
    catalog: AgentCatalog,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    match (&args.name, globals.form()) {
        (Some(name), form) => {
            let disabled = || catalog.disabled.iter().find(|agent| agent.name == *name);
            let agent = catalog.find(name).or_else(disabled);
            let agent = agent.ok_or_else(|| unknown(name, &catalog))?;
            match form {
                Form::Json => print_json(out, agent)?,
                Form::Text => {
                    let text = wrapped(&agent_text(agent), out.room());
                    write_text(out, &text)?;
                }
            }
        }
        (None, Form::Json) => print_json(out, &catalog)?,
        (None, Form::Text) => {
            let room = out.room();
            write_text(out, agent_table(&catalog, room).trim_end())?;
            for line in agent_notes(&catalog) {
                note(globals, &line);
            }
        }
    }
    Ok(ExitCode::Success)
}

fn unknown(name: &str, catalog: &AgentCatalog) -> Error {
    let error = Error::usage(format!("there is no agent `{}`", one_line(name)));
    let names = catalog.agents.iter().map(|agent| agent.name.as_str());
    match nearest(name, names) {
        Some(near) => error.hint(format!("regatta agents {near}")),
        None => error.hint("regatta agents"),
    }
}

/// Adds a warning to each agent whose schema is none.
fn with_checked_schemas(mut catalog: AgentCatalog) -> AgentCatalog {
    for agent in &mut catalog.agents {
        let fault = agent.output.as_ref().and_then(|given| {
            let read = JsonSchemas.read(given);
            read.and_then(|schema| JsonSchemas.compile(&schema)).err()
        });
        let Some(fault) = fault else { continue };
        let message = format!("its schema is invalid, so any object is a result: {fault}");
        let AgentDefinition { path: Some(path), warnings, .. } = agent else { continue };
        warnings.push(AgentWarning { path: path.clone(), line: None, message });
    }
    catalog
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser as _;

    use super::*;
    use crate::args::Arguments;
    use crate::render::{OutputWidth, too_long};

    const FILE: &str = "---\nname: explore\ndescription: Looks around.\ntools: Read, Glob\nmodel: opus\n\
                        colour: red\nodd: 1\noutput: { elements: { type: text } }\n---\nLook around.\n";

    fn catalog() -> (tempfile::TempDir, AgentCatalog) {
        let folder = tempfile::tempdir().unwrap();
        let agents = folder.path().join(".claude/agents");
        fs::create_dir_all(&agents).unwrap();
        fs::write(agents.join("look.md"), FILE).unwrap();
        fs::write(agents.join("none.md"), "Nothing.\n").unwrap();
        let home = folder.path().join("home");
        let places = DataPaths::resolve(|name| (name == "HOME").then(|| home.clone().into()));
        let found = config::agents::discover(&places.unwrap(), folder.path(), folder.path());
        (folder, with_checked_schemas(found))
    }

    fn printed(words: &[&str], catalog: AgentCatalog) -> Result<String, Error> {
        let arguments = Arguments::parse_from(["regatta"].iter().chain(words));
        let crate::args::Command::Agents(args) = &arguments.command else { panic!("{words:?}") };
        let mut out = Vec::new();
        print(&arguments.globals, args, catalog, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn agents_are_listed_with_what_shadows_what_and_what_is_wrong() {
        let (folder, catalog) = catalog();
        let table = agent_table(&catalog, OutputWidth::Columns(80));
        assert!(table.starts_with("name        source   model"), "{table}");
        assert!(
            table.contains("\nexplore     project  opus          read, find\n  Looks around.\n"),
            "{table}"
        );
        assert!(table.contains("\nquick_task  bundled  smol          all\n"), "{table}");
        assert_eq!(too_long(&table), Vec::<&str>::new());
        let place = folder.path().canonicalize().unwrap().join(".claude/agents");
        let place = place.display();
        assert_eq!(
            agent_notes(&catalog),
            [
                format!(
                    "`explore` of Regatta is not used: {place}/look.md has one of the same name"
                ),
                format!(
                    "{place}/none.md: it is skipped: it has no front matter between two lines `---`"
                ),
                format!("{place}/look.md:7: unknown field `odd`"),
                format!(
                    "{place}/look.md: its schema is invalid, so any object is a result: /elements/type: \
                     `text` is no type of JTD"
                ),
            ]
        );
    }

    #[test]
    fn one_agent_is_shown_as_a_whole_with_what_was_mapped() {
        let (_folder, catalog) = catalog();
        let text = printed(&["agents", "explore"], catalog.clone()).unwrap();
        for line in [
            "  model        opus",
            "  tools        read, find",
            "  spawns       none",
            "  read as      tools: Glob → find",
            "  output       {\"elements\":{\"type\":\"text\"}}",
            "Looks around.",
            "Look around.",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
        let error = printed(&["agents", "explor"], catalog).unwrap_err();
        assert_eq!(error.what, "there is no agent `explor`");
    }

    #[test]
    fn an_agent_that_the_settings_disable_is_named_as_such_and_can_be_shown() {
        let (_folder, catalog) = catalog();
        let catalog = catalog.without(&["plan".to_owned(), "none".to_owned()]);
        assert!(catalog.find("plan").is_none());
        let notes = agent_notes(&catalog);
        let note = "`plan` of Regatta is disabled by `task.disabledAgents`";
        assert!(notes.iter().any(|it| it == note), "{notes:?}");
        let text = printed(&["agents", "plan"], catalog.clone()).unwrap();
        assert!(text.starts_with("plan\n"), "{text}");
        let text = printed(&["agents", "--json"], catalog).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["disabled"][0]["name"], "plan");
    }

    #[test]
    fn the_list_is_one_json_document() {
        let (_folder, catalog) = catalog();
        let text = printed(&["agents", "--json"], catalog).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["agents"][0]["name"], "explore");
        assert_eq!(document["agents"][0]["tools"], serde_json::json!(["read", "find"]));
        assert_eq!(document["agents"][0]["source"], "project");
        assert_eq!(document["shadowed"][0]["source"], "bundled");
        assert_eq!(document["warnings"].as_array().map(Vec::len), Some(1));
    }
}
