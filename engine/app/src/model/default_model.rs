//! Chooses a model if none is named: the default of the only provider with a key, else the only
//! model of a server on this machine.

use protocol::ModelRoute;
use providers::{KnownProvider, LocalFound, LocalServer, known_providers, local_servers};

use super::local_models::LocalSources;
use super::user_models::{KeyPlace, UserModels};
use crate::text::count;

/// What was found if no model is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FoundModel {
    /// This model, for this reason.
    One(ModelRoute, String),
    /// None, or too many: this was found.
    Unclear(FoundModels),
}

/// What was found where no model is clear.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundModels {
    /// The places that were looked at, for people.
    pub said: String,
    /// Models that can be named: `PROVIDER/ID`.
    pub models: Vec<String>,
}

/// Looks for a model. Servers on this machine are asked, in 300 milliseconds at most.
pub async fn find_model(user: &UserModels) -> FoundModel {
    let keyed = keyed_providers(user);
    if let [(provider, default)] = keyed.as_slice() {
        let route = default.as_ref().and_then(|id| format!("{provider}/{id}").parse().ok());
        if let Some(route) = route {
            let why = format!("it is the default of {provider}, the only provider with a key");
            return FoundModel::One(route, why);
        }
    }
    match choose(&keyed, &local_servers(&LocalSources::All.servers(user)).await) {
        FoundModel::Unclear(FoundModels { said, models }) => {
            let models = models.into_iter().chain(of_file(user)).collect();
            FoundModel::Unclear(FoundModels { said: format!("{said}{}", in_file(user)), models })
        }
        one @ FoundModel::One(..) => one,
    }
}

/// How many models of a file are listed.
const LISTED: usize = 5;

/// Returns what else can be said: the models of the file of models, and its mistakes.
fn in_file(user: &UserModels) -> String {
    let models: Vec<_> = of_file(user).collect();
    let some = models.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    let more = if models.len() > LISTED { ", …" } else { "" };
    let listed = format!("; in {}: {some}{more}", user.file_shown());
    let listed = Some(listed).filter(|_| !models.is_empty());
    listed.into_iter().chain(user.faults().map(|fault| format!("; {fault}"))).collect()
}

/// Returns the models of the file of models.
fn of_file(user: &UserModels) -> impl Iterator<Item = String> {
    let providers = user.file().providers.iter();
    providers.flat_map(|(name, entry)| entry.models.keys().map(move |id| format!("{name}/{id}")))
}

/// A provider with a key, and its default model if it has one.
type Keyed = (String, Option<String>);

fn keyed_providers(user: &UserModels) -> Vec<Keyed> {
    let file = user.file();
    let hosted = known_providers().filter(|known| !known.is_local()).map(|known| known.id);
    let own = file.providers.keys().map(String::as_str);
    let own = own.filter(|name| KnownProvider::find(name).is_none());
    let shared = user.shared_accounts();
    let keyed = hosted
        .chain(own)
        .filter(|name| !shared.contains_key(*name))
        .filter(|name| !matches!(user.key_place(name), KeyPlace::Missing(_) | KeyPlace::NotNeeded));
    let default = |name: &str| {
        let known = user.facts().provider(name).and_then(|facts| facts.default.clone());
        let own = file.providers.get(name).map(|entry| entry.models.keys().collect::<Vec<_>>());
        match own.as_deref() {
            Some([only]) => Some((*only).clone()),
            _ => known,
        }
    };
    keyed.map(|name| (name.to_owned(), default(name))).collect()
}

fn choose(keyed: &[Keyed], servers: &[LocalServer]) -> FoundModel {
    let models: Vec<(&str, &str)> = servers
        .iter()
        .filter_map(|server| match &server.found {
            LocalFound::Models(models) => Some((server.provider.as_str(), models)),
            LocalFound::Nothing | LocalFound::OtherUser | LocalFound::Silent => None,
        })
        .flat_map(|(provider, models)| models.iter().map(move |id| (provider, id.as_str())))
        .collect();
    if let ([], [(provider, id)]) = (keyed, models.as_slice()) {
        let route = ModelRoute {
            provider: (*provider).to_owned(),
            id: (*id).to_owned(),
            base_url: None,
            thinking: None,
        };
        let why = format!("it is the only model of {provider} on this machine");
        return FoundModel::One(route, why);
    }
    let keys = match keyed {
        [] => "there is no key of a provider".to_owned(),
        keyed => {
            let names: Vec<_> = keyed.iter().map(|(name, _)| name.as_str()).collect();
            format!("there are keys of {}", names.join(", "))
        }
    };
    let local = match models.as_slice() {
        [] => "no model of a server on this machine".to_owned(),
        models => {
            let some: Vec<_> = models.iter().take(3).map(|(at, id)| format!("{at}/{id}")).collect();
            let more = if models.len() > some.len() { ", …" } else { "" };
            format!("{} on this machine: {}{more}", count(models.len(), "model"), some.join(", "))
        }
    };
    let others = servers.iter().filter_map(|server| match server.found {
        LocalFound::OtherUser => {
            Some(format!("; {} belongs to another user and was not asked", server.provider))
        }
        LocalFound::Silent => Some(format!("; {} did not answer", server.provider)),
        LocalFound::Models(_) | LocalFound::Nothing => None,
    });
    let defaults = keyed.iter();
    let defaults = defaults.filter_map(|(name, id)| id.as_ref().map(|id| format!("{name}/{id}")));
    let models = models.iter().map(|(at, id)| format!("{at}/{id}"));
    FoundModel::Unclear(FoundModels {
        said: format!("{keys}, and {local}{}", others.collect::<String>()),
        models: defaults.chain(models).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(provider: &str, found: LocalFound) -> LocalServer {
        LocalServer { provider: provider.to_owned(), found }
    }

    fn models(ids: &[&str]) -> LocalFound {
        LocalFound::Models(ids.iter().map(|&id| id.to_owned()).collect())
    }

    #[test]
    fn the_models_of_the_file_are_told_and_its_mistakes_with_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().as_os_str().to_owned();
        let of = |name: &str| (name == "REGATTA_HOME").then(|| home.clone());
        let places = config::DataPaths::resolve(of).unwrap();
        let file = places.models_files()[0].clone();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let said = |text: &str| {
            std::fs::write(&file, text).unwrap();
            in_file(&UserModels::new(&places)).replace(&file.display().to_string(), "FILE")
        };
        let gate = |models: &str| {
            format!(
                "providers:\n  gate:\n    baseUrl: https://g/v1\n    api: openai-completions\n    auth: none\n    models:\n{models}"
            )
        };
        assert_eq!(said("providers: {}\n"), "");
        let two = "      - { id: one }\n      - { id: two }\n";
        assert_eq!(said(&gate(two)), "; in FILE: gate/one, gate/two");
        let many: String = (1..=7).map(|n| format!("      - {{ id: m{n} }}\n")).collect();
        let first = "; in FILE: gate/m1, gate/m2, gate/m3, gate/m4, gate/m5, …";
        assert_eq!(said(&gate(&many)), first);
        let wrong = said(&gate("      - { idd: one }\n"));
        assert!(wrong.starts_with("; FILE:7: ") && wrong.contains("`gate` is not used"), "{wrong}");
    }

    #[test]
    fn the_only_model_on_this_machine_is_chosen_unless_there_is_a_key() {
        let servers =
            [server("ollama", models(&["qwen3:8b"])), server("lm-studio", LocalFound::Nothing)];
        let FoundModel::One(route, why) = choose(&[], &servers) else { panic!("not chosen") };
        assert_eq!((route.to_string(), route.thinking), ("ollama/qwen3:8b".to_owned(), None));
        assert!(why.contains("only model of ollama"), "{why}");
        let keyed = [("openai".to_owned(), None), ("groq".to_owned(), None)];
        let said = "there are keys of openai, groq, and 1 model on this machine: ollama/qwen3:8b";
        let found =
            FoundModels { said: said.to_owned(), models: vec!["ollama/qwen3:8b".to_owned()] };
        assert_eq!(choose(&keyed, &servers), FoundModel::Unclear(found));
        let keyed = ["openai", "groq"].map(|name| (name.to_owned(), Some("main".to_owned())));
        let FoundModel::Unclear(found) = choose(&keyed, &[]) else { panic!("chosen") };
        assert_eq!(found.models, ["openai/main", "groq/main"]);
    }

    #[test]
    fn what_was_found_is_told_where_nothing_can_be_chosen() {
        let servers = [
            server("ollama", models(&["a", "b"])),
            server("llama.cpp", LocalFound::OtherUser),
            server("lm-studio", LocalFound::Silent),
        ];
        let expected = "there is no key of a provider, and 2 models on this machine: ollama/a, \
                        ollama/b; llama.cpp belongs to another user and was not asked; lm-studio did \
                        not answer";
        let models = ["ollama/a", "ollama/b"].map(str::to_owned).to_vec();
        let found = FoundModels { said: expected.to_owned(), models };
        assert_eq!(choose(&[], &servers), FoundModel::Unclear(found));
        let nothing = "there is no key of a provider, and no model of a server on this machine";
        let found = FoundModels { said: nothing.to_owned(), models: Vec::new() };
        assert_eq!(choose(&[], &[]), FoundModel::Unclear(found));
    }
}
