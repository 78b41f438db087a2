//! What the commands of a workspace have of their own: a slot, and a folder for temporary files.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::ports::{CancelToken, CommandOwner, Commands as _, OwnerEnd, VariableChoice};
use exec::{BaseEnvironment, EnvironmentRules, Processes, Shell, TemporaryFolders};

use crate::harness::{part, request};

/// Returns the slot and the folder of a command of this owner.
async fn own(owner: &Arc<dyn CommandOwner>, folder: &Path) -> (String, String) {
    let request = request(folder, "log", r#"echo "$REGATTA_SLOT $TMPDIR.""#);
    let end = owner.run(request, Arc::new(|_| {}), CancelToken::default()).await.unwrap();
    let line = end.last_line.unwrap();
    let (slot, folder) = line.strip_suffix('.').unwrap().split_once(' ').unwrap();
    (slot.to_owned(), folder.to_owned())
}

#[test]
async fn a_slot_is_free_when_the_processes_have_ended_and_the_folder_goes_when_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let base = BaseEnvironment::new(std::env::vars_os(), &EnvironmentRules::default());
    let shell =
        Shell::new(base, Duration::from_millis(300), Processes::new(part("launcher", folder)));
    let temporary = TemporaryFolders::new(folder.to_owned(), folder.join("records"));
    let shell = Arc::new(shell.with_temporary(temporary));
    let owners = [(); 3].map(|()| Arc::clone(&shell).workspace_owner(&VariableChoice::default()));
    let mut folders = Vec::new();
    for (number, owner) in owners.iter().enumerate() {
        let (slot, own_folder) = own(owner, folder).await;
        assert_eq!(slot, number.to_string());
        assert_eq!(own(owner, folder).await, (slot, own_folder.clone()), "they stay the same");
        folders.push(own_folder);
    }
    let different: BTreeSet<_> = folders.iter().collect();
    assert_eq!(different.len(), 3, "{folders:?}");
    assert!(folders.iter().all(|own| Path::new(own).parent() == Some(folder)), "{folders:?}");

    owners[1].remove_temporary().await;
    assert!(Path::new(&folders[1]).exists(), "its processes may use it");
    assert_eq!(owners[1].end().await, OwnerEnd::Childless);
    assert!(Path::new(&folders[1]).exists(), "nothing has captured its work yet");
    owners[1].remove_temporary().await;
    assert!(!Path::new(&folders[1]).exists());
    // Between its commands an owner keeps its slot, for what the earlier ones have left.
    let next = Arc::clone(&shell).workspace_owner(&VariableChoice::default());
    assert_eq!(own(&next, folder).await.0, "3");
    assert_eq!(own(&owners[1], folder).await.0, "1");
    assert_eq!(owners[1].end_for_good().await, OwnerEnd::Childless);
    assert_eq!(next.end().await, OwnerEnd::Childless);
    let others = [(); 2].map(|()| Arc::clone(&shell).workspace_owner(&VariableChoice::default()));
    assert_eq!(own(&others[0], folder).await.0, "1");
    // One that is dropped after its end has no use for its own.
    drop(next);
    assert_eq!(own(&others[1], folder).await.0, "3");

    let session = Arc::clone(&shell).owner(&VariableChoice::default());
    let usual = std::env::var("TMPDIR").unwrap_or_default();
    assert_eq!(own(&session, folder).await, (String::new(), usual), "a session has none");
}
