//! Odd conflicts: submodules, files and folders in each other's place, a damaged store.

use tests::sandbox::{Plan, Repository, Sandbox};

use crate::binary::sandbox;

fn apply(place: &Sandbox, repository: &Repository, words: &str) -> tests::sandbox::Finished {
    place.regatta(repository.root()).words("apply @ theirs").words(words).run()
}

#[test]
fn a_symlink_with_the_name_of_gitmodules_is_a_conflict_that_keeps_what_stands() {
    let place = sandbox();
    let repository = place.repository().watched();
    let plan = Plan::default()
        .task("link", "ln -s ../outside .gitmodules; echo x > x.txt")
        .task("others", "ln -s README.md .gitignore; ln -s README.md .gitattributes")
        .task("twin", "mkdir src/in; ln -s x src/in/.GITmodules");
    let run = place.run_plan(&repository, &plan).run().expect_code(4);
    let kept = run.events_of("task_conflicted");
    let of = |number: usize, key: &str| kept[number]["conflicts"][0][key].clone();
    assert_eq!([of(0, "reason"), of(1, "reason")], ["gitmodules_link"; 2], "{run}");
    assert_eq!([of(0, "path"), of(1, "path")], [".gitmodules", "src/in/.GITmodules"], "{run}");
    let shown = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
    assert!(shown.stdout.contains("git refuses a symlink with this name"), "{shown}");
    // git is the judge of which names it refuses.
    let oid = repository.git(&["hash-object", "-w", "README.md"]);
    for (name, accepted) in [
        (".gitmodules", false),
        (".GITmodules", false),
        (".gitignore", true),
        (".gitattributes", true),
    ] {
        let info = format!("120000,{},{name}", oid.trim());
        let added = repository.try_git(&["update-index", "--add", "--cacheinfo", &info]);
        assert_eq!(added.status.success(), accepted, "{name}");
        let lands = repository.path(name).symlink_metadata().is_ok();
        assert_eq!(lands, accepted, "{name}");
    }
    for option in ["--theirs", "--markers"] {
        let refused = place.regatta(repository.root()).words("apply @ link").arg(option).run();
        refused.expect_refusal(&["git refuses a symlink with this name"]);
    }
    let kept = place.regatta(repository.root()).words("apply @ link --ours").run();
    let _kept = kept.expect_code(0);
    assert_eq!(repository.text("x.txt"), "x\n");
    assert!(repository.path(".gitmodules").symlink_metadata().is_err());
}

#[test]
fn a_file_for_a_folder_is_kept_replaced_or_put_beside_it_and_a_folder_is_never_removed() {
    let place = sandbox();
    let repository = place.repository().watched();
    let options = ["ours", "theirs", "markers", "clean"];
    // Each of these tasks wants a file below what the user makes a file; the last one, a file where the
    // user makes a folder.
    let plan = options.iter().fold(Plan::default(), |plan, option| {
        let script = format!(
            "mkdir {option}; echo new > {option}/new.md; echo x > {option}.txt
             echo mine > \"$REGATTA_REPO/{option}\""
        );
        plan.task(option, &script)
    });
    let script =
        "echo file > docs; mkdir \"$REGATTA_REPO/docs\"; echo mine > \"$REGATTA_REPO/docs/a\"";
    let _run = place.run_plan(&repository, &plan.task("folder", script)).run().expect_code(4);
    let apply = |words: &str| place.regatta(repository.root()).words("apply @").words(words).run();
    for option in options {
        let applied = apply(&format!("{option} --{option}"));
        let _done = applied.expect_code(if option == "clean" { 4 } else { 0 });
        assert_eq!(repository.text(format!("{option}.txt")), "x\n", "{option}");
        match option {
            "ours" | "clean" => assert_eq!(repository.text(option), "mine\n"),
            "theirs" => assert_eq!(repository.text("theirs/new.md"), "new\n"),
            _ => {
                assert_eq!(repository.text("markers/new.md"), "new\n");
                assert_eq!(repository.text("markers~ours"), "mine\n");
            }
        }
    }
    apply("folder --theirs").expect_refusal(&["with `--theirs`", "docs"]);
    assert_eq!(repository.text("docs/a"), "mine\n");
    let _applied = apply("folder --markers").expect_code(0);
    assert_eq!(repository.text("docs/a"), "mine\n");
    assert_eq!(repository.text("docs~theirs"), "file\n");
}

#[test]
fn what_is_in_the_way_is_told_beside_every_other_conflict_and_both_are_settled_at_once() {
    for (name, ours, theirs, path) in [
        ("content", "echo a >> f.txt", "echo b >> f.txt", "f.txt"),
        ("two names", "git mv f.txt a.txt", "git mv f.txt b.txt", "b.txt"),
    ] {
        let place = sandbox();
        let repository = place.repository().watched();
        repository.write("f.txt", "first\nsecond\nthird\n");
        repository.commit("files");
        let plan = Plan::default()
            .task("ours", &format!("{ours}; mkdir x; echo 1 > x/1"))
            .task("theirs", &format!("{theirs}; echo file > x"));
        let run = place.run_plan(&repository, &plan).run().expect_code(4);
        let conflicts = run.events_of("task_conflicted")[0]["conflicts"].clone();
        let told: Vec<_> = conflicts.as_array().into_iter().flatten().collect();
        let told: Vec<_> =
            told.iter().map(|it| (&it["path"], &it["reason"], &it["with"])).collect();
        assert_eq!(told.len(), 2, "{name}: {run}");
        assert_eq!((told[0].0, told[0].2), (&path.into(), &"ours".into()), "{name}: {run}");
        let in_the_way = (&"x".into(), &"in_the_way".into(), &"ours".into());
        assert_eq!(told[1], in_the_way, "{name}: {run}");
        // The folder is not removed for the file, and the hint is one that works.
        apply(&place, &repository, "--theirs").expect_refusal(&["with `--theirs`", "--ours x"]);
        let words = format!("--theirs {path} --ours x");
        let applied = apply(&place, &repository, &words).expect_code(0);
        assert_eq!(repository.text("x/1"), "1\n", "{name}: {applied}");
        let settled =
            if path == "f.txt" { repository.text("f.txt") } else { repository.text(path) };
        assert!(settled.starts_with("first\nsecond\nthird\n"), "{name}: {applied}");
    }
}

#[test]
fn a_submodule_is_named_as_the_reason_and_never_touched() {
    let place = sandbox();
    let library = Repository::init(&place.folder().join("library"));
    library.write("lib.txt", "library\n");
    library.commit("library");
    let repository = place.repository();
    let script = "mkdir lib; echo file > lib/lib.txt; echo x > other.txt";
    let add = "cd \"$REGATTA_REPO\"; git -c protocol.file.allow=always submodule --quiet add ../library lib";
    let plan = Plan::default().task("theirs", &format!("set -e; {script}; {add}"));
    let run = place.run_plan(&repository, &plan).run().expect_code(4);
    let conflict = &run.events_of("task_conflicted")[0]["conflicts"][0];
    assert_eq!(conflict["reason"], "submodule", "{run}");
    assert_eq!(conflict["ours"]["mode"], 0o160_000, "{run}");
    for option in ["--theirs", "--markers"] {
        apply(&place, &repository, option).expect_refusal(&["it is inside a submodule, or is one"]);
    }
    let show = place.regatta(repository.root()).words("show @/theirs:lib/lib.txt --ours").run();
    show.expect_refusal(&["it is a submodule at commit"]);
    let _applied = apply(&place, &repository, "--ours").expect_code(0);
    assert_eq!(repository.text("lib/lib.txt"), "library\n");
    assert_eq!(repository.text("other.txt"), "x\n");
}

#[test]
fn a_store_that_is_damaged_or_gone_is_told_and_nothing_lands() {
    let place = sandbox();
    let repository = place.repository().watched();
    repository.write("list.txt", "first\n");
    repository.commit("files");
    let plan = Plan::default()
        .task("ours", "echo ours >> list.txt")
        .task("theirs", "echo theirs >> list.txt; echo x > new.txt");
    let _run = place.run_plan(&repository, &plan).run().expect_code(4);
    let before = repository.tree();
    let store = place.home().stores()[0].clone();
    let objects = store.join("objects");
    std::fs::rename(&objects, store.join("gone")).expect("it can be renamed");
    std::fs::create_dir_all(objects.join("pack")).expect("a folder can be made");
    for words in ["--theirs", "--markers", "--clean", "--branch mine", "--resolve true"] {
        let failed = apply(&place, &repository, words);
        assert_ne!(failed.code, 0, "{failed}");
        assert!(!failed.stderr.contains("panicked"), "{failed}");
        assert_eq!(repository.tree(), before, "{words}");
    }
    std::fs::remove_dir_all(&store).expect("it can be removed");
    let show = place.regatta(repository.root()).words("show theirs:list.txt --theirs").run();
    show.expect_refusal(&["there is no task store"]);
    let listed = place.regatta(repository.root()).words("conflicts").run().expect_code(0);
    assert!(listed.stdout.contains("list.txt"), "{listed}");
}
