//! A model server to try clients with: four APIs on the loopback, which say what the command line
//! tells, with faults and limits, and hold each request against the rules of its API.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tests::model::{Answer, Asked, Call, LoopbackModel, Said, Script, Wire};

const HELP: &str = "\
A model server on the loopback, for four APIs. It says where it is, answers until its standard input
ends, and then says what was wrong with the requests. It ends with 1 if anything was.

  cargo run -p regatta-tests --example model_server -- --text Hello
  cargo run -p regatta-tests --example model_server -- --fail 503 --fail 429 --limit 10

Options:
  --text TEXT      what each answer says; without it, an answer yields where it can
  --think TEXT     what the model thinks before
  --call NAME      a tool that the first answer of a conversation calls, without arguments
  --fail STATUS    answers with this status instead, once each time it is given
  --streams FOLDER answers with the file API/MODEL.sse of this folder if there is one
  --limit N        refuses more than N requests a second, and says when to come again
  --key KEY        refuses whoever does not give this key
  --help           shows this
";

#[derive(Clone, Default)]
struct Options {
    text: String,
    thinking: String,
    call: Option<String>,
    failures: VecDeque<u16>,
    streams: Option<PathBuf>,
    limit: Option<usize>,
    key: Option<String>,
    help: bool,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(name) = arguments.next() {
        if name == "--help" {
            options.help = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse().map_err(|_| format!("invalid value `{value}` for `{name}`"));
        match name.as_str() {
            "--text" => options.text = value,
            "--think" => options.thinking = value,
            "--call" => options.call = Some(value),
            "--fail" => options.failures.push_back(number()?),
            "--streams" => options.streams = Some(value.into()),
            "--limit" => options.limit = Some(number()?.into()),
            "--key" => options.key = Some(value),
            _ => return Err(format!("unexpected argument `{name}`; see --help")),
        }
    }
    Ok(options)
}

/// Says what the options say in one conversation.
fn script(options: Options) -> impl Script {
    let mut options = options;
    move |asked: &Asked| {
        if let Some(status) = options.failures.pop_front() {
            return Answer::error(status, "api_error", "as was asked for");
        }
        let file = |folder: &PathBuf| {
            folder.join(asked.wire.name()).join(format!("{}.sse", asked.model()))
        };
        if let Some(Ok(stream)) = options.streams.as_ref().map(|it| std::fs::read(file(it))) {
            return Answer::stream(stream);
        }
        let (text, thinking) = (options.text.clone(), options.thinking.clone());
        let call = options.call.take().map(|name| Call::new(&name, &json!({})));
        let yields = text.is_empty() && asked.tools().contains(&"yield");
        let done = json!({ "result": { "data": "done" } });
        let call = call.or_else(|| yields.then(|| Call::new("yield", &done)));
        Answer::Says(Said { text, thinking, calls: call.into_iter().collect(), ..Said::default() })
    }
}

fn main() -> Result<(), String> {
    let options = parse(std::env::args().skip(1))?;
    let mut out = io::stdout();
    let mut say = |text: &str| out.write_all(text.as_bytes()).map_err(|error| error.to_string());
    if options.help {
        return say(HELP);
    }
    let model = LoopbackModel::start();
    if let Some(most) = options.limit {
        model.limit(most, Duration::from_secs(1));
    }
    options.key.iter().for_each(|key| model.demand_key(key));
    model.otherwise(move |_talk| Box::new(script(options.clone())));
    for wire in Wire::ALL {
        let (route, url) = (wire.route(), model.url_of(wire));
        say(&format!("{}: --model {route} --base-url {url}\n", wire.name()))?;
    }
    let _until_it_ends = io::stdin().read_to_end(&mut Vec::new()); // whatever is typed
    let violations = model.take_violations();
    say(&format!("{} requests, {} faults\n", model.requests(), violations.len()))?;
    match violations.is_empty() {
        true => Ok(()),
        false => Err(violations.join("\n")),
    }
}
