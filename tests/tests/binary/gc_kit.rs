//! Makes ledgers and task stores as thousands of tasks would leave them, without running these.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tests::sandbox::{Home, Invocation, Plan, Repository, Sandbox};

/// What became of a made task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Landed,
    Conflicted,
    Failed,
    Discarded,
    Nothing,
}

/// A made task: its run's only others are made with it.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) name: String,
    pub(super) fate: Fate,
    pub(super) depends_on: Vec<String>,
}

impl Made {
    pub(super) fn new(name: String, fate: Fate) -> Self {
        Self { name, fate, depends_on: Vec::new() }
    }

    /// Whether its work has neither landed nor been discarded.
    pub(super) fn is_unlanded(&self) -> bool {
        matches!(self.fate, Fate::Conflicted | Fate::Failed)
    }
}

/// Runs one task, so that there are a ledger and a store, and returns the name of its run.
pub(super) fn template(place: &Sandbox, repository: &Repository) -> String {
    let run = place.run_in(repository).exec("date +%s%N > template.txt").run();
    run.expect_code(0).run_name()
}

/// Adds tasks to the run `run`, which has one task `t1`: rows in the ledger, captures in the store,
/// and a folder of output each.
pub(super) fn add_tasks(home: &Home, run: &str, tasks: &[Made]) {
    let landings = format!(
        "SELECT max(transition) FROM landing JOIN task ON task.number = landing.task
         JOIN run ON run.number = task.run WHERE run.name = '{run}'"
    );
    let landing = home.ledger(&landings, |row| row.get::<_, i64>(0))[0];
    let mut sql = String::new();
    let mut import = String::new();
    for (number, task) in tasks.iter().enumerate() {
        let position = number + 1;
        let (name, fate) = (&task.name, task.fate);
        let state = if fate == Fate::Failed { "failed" } else { "done" };
        let discarded = match fate {
            Fate::Discarded => "finished",
            _ => "NULL",
        };
        let files = i32::from(fate != Fate::Nothing);
        let on = serde_json::to_string(&task.depends_on).expect("names are JSON");
        let _written = write!(
            sql,
            "INSERT INTO task (id, run, position, name, title, state, attempt, started, finished,
             ms, report, capture, files, added, removed, discarded, spec)
             SELECT 'task_' || lower(hex(randomblob(16))), run, {position}, '{name}', title,
             '{state}', attempt, started, finished, ms, report,
             'refs/tasks/{run}/{name}/1', {files}, 1, 0, {discarded},
             json_set(spec, '$.name', '{name}', '$.depends_on', json('{on}'))
             FROM task WHERE name = 't1' AND run = (SELECT number FROM run WHERE name = '{run}');"
        );
        let result = match fate {
            Fate::Landed => Some("'landed', NULL"),
            Fate::Conflicted => Some("'conflicted', '[]'"),
            Fate::Nothing => Some("'unchanged', NULL"),
            Fate::Failed | Fate::Discarded => None,
        };
        if let Some(result) = result {
            let _written = write!(
                sql,
                "INSERT INTO landing (transition, task, at, result, conflicts)
                 SELECT {landing}, new.number, new.finished, {result} FROM task AS new WHERE new.name = '{name}'
                 AND new.run = (SELECT number FROM run WHERE name = '{run}');"
            );
        }
        // SQLite copies what follows of a text with each statement of it.
        if number % 100 == 99 {
            home.change_ledger(&format!("BEGIN; {sql} COMMIT;"));
            sql.clear();
        }
        capture(&mut import, run, name);
        let output = home.data().join("artifacts").join(run).join(name);
        std::fs::create_dir_all(&output).expect("a folder can be made");
        std::fs::write(output.join("output.log"), name).expect("a file can be written");
    }
    home.change_ledger(&sql);
    git_reads(&home.stores()[0], &["fast-import", "--quiet", "--force"], import.as_bytes());
}

/// Writes a capture of one file with two versions, for `git fast-import`.
fn capture(import: &mut String, run: &str, name: &str) {
    let lines: String = (0..40).map(|line| format!("line {line} of {name}\n")).collect();
    let changed = lines.replace("line 7 ", "changed ");
    let message = format!("{run}/{name} 1\n\nCapture-Version: 2\n");
    let _written = write!(
        import,
        "commit refs/tasks/{run}/{name}/1\ncommitter R <r@localhost> 1700000000 +0000\n\
         data {}\n{message}\n",
        message.len()
    );
    for (side, text) in [("base", &lines), ("task", &changed)] {
        let path = format!("{side}/src/{name}.txt");
        let _written = write!(import, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
    import.push('\n');
}

/// Runs git in a store with this standard input, and returns its standard output.
pub(super) fn git_reads(store: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.arg("--git-dir").arg(store).args(arguments);
    git.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = git.spawn().expect("git can be run");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).expect("git reads it"));
        let output = child.wait_with_output().expect("git ends");
        assert!(output.status.success(), "git {arguments:?}");
        output.stdout
    })
}

/// Returns how large a pack git makes of everything that the references of a store lead to.
pub(super) fn packed_size(store: &Path) -> u64 {
    let arguments = ["pack-objects", "--all", "--revs", "--stdout", "--quiet"];
    git_reads(store, &arguments, b"").len() as u64
}

/// Returns the size of all objects of a store on the disk.
pub(super) fn stored_size(store: &Path) -> u64 {
    let mut open = vec![store.join("objects")];
    let mut size = 0;
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("it can be listed").flatten() {
            match entry.path().is_dir() {
                true => open.push(entry.path()),
                false => size += entry.metadata().map_or(0, |file| file.len()),
            }
        }
    }
    size
}

/// Makes a run this many days older.
pub(super) fn age(home: &Home, run: &str, days: u32) {
    home.change_ledger(&format!(
        "UPDATE transition SET at = strftime('%Y-%m-%dT%H:%M:%fZ', at, '-{days} days')
         WHERE run = (SELECT number FROM run WHERE name = '{run}')"
    ));
}

/// A run of which `a` and `c` land and `b`, which fails, is kept. Returns its name.
pub(super) fn three_tasks(place: &Sandbox, repository: &Repository) -> String {
    let plan = Plan::default()
        .task("a", "head -c 40000 /dev/urandom | od > a.txt; echo a")
        .task("b", "head -c 40000 /dev/urandom | od > b.txt; echo b; exit 3")
        .task("c", "echo c > c.txt");
    place.run_plan(repository, &plan).run().expect_code(3).run_name()
}

/// Calls `regatta gc` with these arguments.
pub(super) fn gc(place: &Sandbox, repository: &Repository, words: &str) -> Invocation {
    place.regatta(repository.root()).words("gc").words(words)
}

/// Returns whether the output of a task is there.
pub(super) fn has_log(home: &Home, run: &str, task: &str) -> bool {
    home.data().join("artifacts").join(run).join(task).exists()
}

/// Checks that git finds the only task store in order.
pub(super) fn is_sound(home: &Home) {
    let _said = home.store_git(&["fsck", "--full", "--strict", "--no-dangling"]);
}
