//! Makes ledgers and task stores as thousands of tasks would leave them, without running these, and
//! measures what they take.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::sandbox::Home;

/// How many captures become a pack.
const IN_PACK: usize = 1_000;

/// What became of a made task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its work is in the tree.
    Landed,
    /// Its work conflicts, and is kept.
    Conflicted,
    /// It failed, and its work is kept.
    Failed,
    /// Its work was discarded.
    Discarded,
    /// It changed nothing.
    Nothing,
}

/// A made task: its run's only others are made with it.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its name.
    pub name: String,
    /// What became of it.
    pub fate: Fate,
    /// The tasks that it builds on.
    pub depends_on: Vec<String>,
}

impl Made {
    /// Returns a task that builds on no other.
    #[must_use]
    pub fn new(name: String, fate: Fate) -> Self {
        Self { name, fate, depends_on: Vec::new() }
    }

    /// Returns whether its work has neither landed nor been discarded.
    #[must_use]
    pub fn is_unlanded(&self) -> bool {
        matches!(self.fate, Fate::Conflicted | Fate::Failed)
    }
}

/// Adds tasks to the run `run`, which has one task `t1`: rows in the ledger, captures in the store,
/// and a folder of output each.
///
/// # Panics
/// When git or SQLite does not play along.
pub fn add_tasks(home: &Home, run: &str, tasks: &[Made]) {
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
        if number % IN_PACK == IN_PACK - 1 {
            import.push_str("checkpoint\n\n");
        }
        let output = home.data().join("artifacts").join(run).join(name);
        std::fs::create_dir_all(&output).expect("a folder can be made");
        std::fs::write(output.join("output.log"), name).expect("a file can be written");
    }
    home.change_ledger(&sql);
    // Whole and uncompressed, as the engine packs what tasks leave.
    let arguments = ["fast-import", "--quiet", "--force", "--depth=0"];
    git_reads(&home.stores()[0], &arguments, import.as_bytes());
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
fn git_reads(store: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
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

/// Returns how large a pack git makes of everything that the references of a store lead to, with
/// nothing taken over from the packs that are there.
///
/// # Panics
/// When git does not play along.
#[must_use]
pub fn packed_size(store: &Path) -> u64 {
    let (compressed, alone) = ("core.compression=-1", ["--no-reuse-object", "--no-reuse-delta"]);
    let pack = ["pack-objects", "--all", "--revs", "--stdout", "--quiet"];
    git_reads(store, &[&["-c", compressed][..], &pack, &alone].concat(), b"").len() as u64
}

/// Removes references of a store, and packs what the rest leads to: what git has for `regatta gc`.
///
/// # Panics
/// When git does not play along.
pub fn collect_with_git(store: &Path, gone: &[String]) {
    let lines: String = gone.iter().map(|name| format!("delete {name}\n")).collect();
    let _said = git_reads(store, &["update-ref", "--stdin"], lines.as_bytes());
    let _said = git_reads(store, &["repack", "-a", "-d", "-q"], b"");
    let _said = git_reads(store, &["pack-refs", "--all", "--prune"], b"");
}

/// Returns the size of all objects of a store on the disk.
///
/// # Panics
/// When it cannot be listed.
#[must_use]
pub fn stored_size(store: &Path) -> u64 {
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
