//! A session with a tool of its own. Its model is a scenario, so that nothing is sent anywhere.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;

use regatta::session::ask;
use regatta::{AppContext, OwnTool};
use serde_json::json;

const SCENARIO: &str = r#"
version = 1
[[turn]]
calls = [{ tool = "weather", arguments = { city = "Oslo" } }]
[[turn]]
remember = { degrees = '(\d+) degrees' }
text = "It is {{degrees}} degrees warm in Oslo."
"#;

fn main() -> Result<(), Box<dyn Error>> {
    regatta::launch();
    let folder = tempfile::tempdir()?;
    tokio::runtime::Runtime::new()?.block_on(converse(&folder.path().canonicalize()?))
}

async fn converse(folder: &Path) -> Result<(), Box<dyn Error>> {
    std::fs::write(folder.join("weather.toml"), SCENARIO)?;
    let model = format!("offline/{}", folder.join("weather.toml").display()).parse()?;
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let weather = OwnTool::new("weather", "Says how warm it is in a city.", schema, |arguments| {
        Ok(format!("{}: 12 degrees", arguments["city"]))
    });
    let app = AppContext::open_in(&folder.join("data"))?.with_tools(weather);
    let engine = app.open_engine(NonZeroUsize::MIN).await?;
    let (spec, tools) = app.session(folder, model, "You are brief.");
    let (session, mut events) = engine.open_session(spec, tools).await?;
    println!("{}", ask(&session, &mut events, "How warm is it in Oslo?").await?);
    Ok(())
}
