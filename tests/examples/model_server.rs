//! A model server to try clients with: four APIs on the loopback, which say what the command line
//! tells, with faults and limits, and hold each request against the rules of its API. An OAuth server
//! may be beside it, or alone.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use tests::model::{Answer, Asked, Call, Cut, LoopbackModel, Pace, Said, Script, Wire};
use tests::oauth::{DeviceAnswer, OauthServer};

const HELP: &str = "\
A model server on the loopback, for four APIs. It says where it is, answers until its standard input
ends, and then says what was wrong with the requests. It ends with 1 if anything was.

  cargo run -p regatta-tests --example model_server -- --text Hello
  cargo run -p regatta-tests --example model_server -- --fail 503 --cut reset --limit 10
  cargo run -p regatta-tests --example model_server -- --oauth only

Options:
  --text TEXT      what each answer says; without it, an answer yields where it can
  --think TEXT     what the model thinks before
  --call NAME      a tool that the first answer of a conversation calls, without arguments
  --fail STATUS    answers with this status instead, once each time it is given
  --cut WHERE      cuts an answer at its beginning (`at-once`), before it says why it ends
                   (`before-finish`), or resets the connection in its middle (`reset`), as --fail
  --stall WHEN     says nothing more after it has taken a request (`answer`), or does not even take it
                   (`request`), as --fail
  --pace PACE      sends answers in small pieces that cut lines (`small`), or event by event (`events`)
  --streams FOLDER answers with the file API/MODEL.sse of this folder if there is one
  --limit N        refuses more than N requests a second, and says when to come again
  --key KEY        refuses requests without this key
  --oauth WHERE    starts an OAuth server `beside` it, or the OAuth server `only`, and says what `oauth`
                   in models.yml has to be. It lets in every user who logs in
  --help           shows this
";

#[derive(Clone, Default)]
struct Options {
    text: String,
    thinking: String,
    call: Option<String>,
    /// What is answered instead, in this order.
    faults: VecDeque<Fault>,
    pace: Option<Pace>,
    streams: Option<PathBuf>,
    limit: Option<usize>,
    key: Option<String>,
    oauth: Option<Oauth>,
    help: bool,
}

/// What comes instead of an answer.
#[derive(Clone, Copy)]
enum Fault {
    Status(u16),
    Cut(Cut),
    /// The answer begins, and nothing follows.
    Silence,
    /// The request is not taken.
    Held,
}

/// Where the OAuth server is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Oauth {
    Beside,
    Only,
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options::default();
    while let Some(name) = arguments.next() {
        if name == "--help" {
            options.help = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let invalid = || format!("invalid value `{value}` for `{name}`");
        let number = || value.parse().map_err(|_| invalid());
        match name.as_str() {
            "--text" => options.text = value,
            "--think" => options.thinking = value,
            "--call" => options.call = Some(value),
            "--fail" => options.faults.push_back(Fault::Status(number()?)),
            "--cut" => options.faults.push_back(Fault::Cut(match value.as_str() {
                "at-once" => Cut::AtOnce,
                "before-finish" => Cut::BeforeFinish,
                "reset" => Cut::Reset,
                _ => return Err(invalid()),
            })),
            "--stall" => options.faults.push_back(match value.as_str() {
                "answer" => Fault::Silence,
                "request" => Fault::Held,
                _ => return Err(invalid()),
            }),
            "--pace" => match value.as_str() {
                "small" => options.pace = Some(Pace::Small),
                "events" => options.pace = Some(Pace::Events),
                _ => return Err(invalid()),
            },
            "--oauth" => match value.as_str() {
                "beside" => options.oauth = Some(Oauth::Beside),
                "only" => options.oauth = Some(Oauth::Only),
                _ => return Err(invalid()),
            },
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
        let fault = options.faults.pop_front();
        match fault {
            Some(Fault::Status(status)) => {
                return Answer::error(status, "api_error", "as was asked for");
            }
            Some(Fault::Silence) => return Answer::Silence,
            Some(Fault::Held) => return Answer::Held,
            Some(Fault::Cut(_)) | None => {}
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
        let said = Said { text, thinking, calls: call.into_iter().collect(), ..Said::default() };
        match fault {
            Some(Fault::Cut(place)) => Answer::Cut(said, place),
            Some(Fault::Status(_) | Fault::Silence | Fault::Held) | None => Answer::Says(said),
        }
    }
}

fn main() -> Result<(), String> {
    let options = parse(std::env::args().skip(1))?;
    let mut out = io::stdout();
    let mut say = |text: &str| out.write_all(text.as_bytes()).map_err(|error| error.to_string());
    if options.help {
        return say(HELP);
    }
    let oauth = options.oauth.map(|_where| OauthServer::start());
    if let Some(oauth) = &oauth {
        oauth.device(DeviceAnswer::Granted);
        say(&format!("oauth: {}\n", oauth.described(&oauth.device_url())))?;
    }
    if options.oauth == Some(Oauth::Only) {
        let _until_it_ends = io::stdin().read_to_end(&mut Vec::new()); // whatever is typed
        return Ok(());
    }
    let model = LoopbackModel::start();
    options.pace.iter().for_each(|pace| model.pace(*pace));
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
