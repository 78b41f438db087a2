//! A file system that can share blocks between files: copies for a workspace take no room there.

use std::process::Command;

use tests::sandbox::{LoopDisk, Repository, skip};

use crate::binary::sandbox;

/// Prints for each file whether all of its extents, some, or none are shared, as the kernel says.
const SHARED: &str = "shared() { for file; do sync \"$file\"; filefrag -v \"$file\" | awk -v n=\"$file\" \
    '$1 ~ /^[0-9]+:$/ { all++ } /shared/ { some++ } \
     END { print n, all == 0 ? \"empty\" : some == all ? \"shared\" : some ? \"mixed\" : \"own\" }'; \
    done; }";

#[test]
fn where_files_can_share_blocks_a_workspace_shares_them_until_a_task_writes() {
    let place = sandbox();
    let name = "where_files_can_share_blocks_a_workspace_shares_them_until_a_task_writes";
    let disk = match LoopDisk::mount(&place.folder().join("disk"), "btrfs", 256) {
        Ok(disk) => disk,
        Err(why) => return skip(name, &why),
    };
    let repository = Repository::init(&disk.folder().join("app"));
    repository.write(".gitignore", "cache/\n");
    repository.write("tracked.bin", vec![1; 3 << 20]);
    repository.write("small.txt", "small\n".repeat(2000));
    repository.commit("files");
    repository.write("cache/carried.bin", vec![2; 5 << 20]);
    repository.write("cache/deep/carried.bin", vec![3; 1 << 20]);
    repository.write("cache/small.txt", "small\n".repeat(2000));
    // One file that cannot be shared with the user's, because its blocks are written in place, ends it
    // for no other. The copies for workspaces share it with the run's copy.
    repository.write("cache/a_first", "");
    let marked = Command::new("chattr").arg("+C").arg(repository.path("cache/a_first")).status();
    assert!(marked.is_ok_and(|status| status.success()), "it can be marked");
    repository.write("cache/a_first", vec![4; 1 << 20]);
    let script = format!(
        "{SHARED}; cp --reflink=never cache/carried.bin plain; \
         shared tracked.bin small.txt cache/carried.bin cache/deep/carried.bin cache/small.txt plain cache/a_first; \
         echo x | dd of=cache/carried.bin conv=notrunc status=none; shared cache/carried.bin; \
         cmp cache/a_first \"$REGATTA_REPO/cache/a_first\" && rm plain && echo same"
    );
    let call = place.run_in(&repository).home(&disk.folder().join("home"));
    let call = call.words("--merge none --carry cache/** --exec").arg(script);
    let finished = call.run().expect_code(0);
    let logs =
        place.regatta(repository.root()).home(&disk.folder().join("home")).words("logs @/t1");
    let output = logs.run().expect_code(0).stdout;
    for line in [
        "tracked.bin shared",
        "small.txt shared",
        "cache/carried.bin shared",
        "cache/deep/carried.bin shared",
        "cache/small.txt shared",
        "plain own",
        "cache/a_first shared",
        "cache/carried.bin mixed",
        "same",
    ] {
        assert!(output.lines().any(|found| found.trim() == line), "{line} in {output}{finished}");
    }
    assert_eq!(repository.read("cache/carried.bin"), vec![2; 5 << 20]);
}
