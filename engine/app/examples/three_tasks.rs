//! A run of three tasks in a git repository, whose events are printed: `three_tasks REPOSITORY`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::path::Path;

use regatta::{AppContext, Submission, open_repository};

fn main() -> Result<(), Box<dyn Error>> {
    regatta::launch();
    let repository = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    tokio::runtime::Runtime::new()?.block_on(run(Path::new(&repository)))
}

async fn run(at: &Path) -> Result<(), Box<dyn Error>> {
    let app = AppContext::open()?;
    let repository = open_repository(&app, at).await?.repository;
    let tasks = vec![
        app.command("date".parse()?, "date > date.txt"),
        app.command("system".parse()?, "uname -a > system.txt"),
        app.command("files".parse()?, "ls > files.txt"),
    ];
    let spec = app.run_of(&*repository, tasks)?;
    let engine = app.open_engine(spec.jobs).await?;
    let mut run = engine.run(Submission::new(spec, repository)).await?;
    println!("run {}: `regatta undo {}` takes it back", run.name, run.name);
    while let Some(event) = run.recv().await {
        println!("{}", serde_json::to_string(&*event)?);
    }
    let outcome = run.outcome().await.map_err(|failure| failure.message)?;
    println!("landed {} of {}", outcome.totals.landed, outcome.totals.done);
    engine.close().await;
    Ok(())
}
