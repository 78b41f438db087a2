//! What drives the built binary: cli/Cargo.toml registers this file, so that cargo builds the
//! binary first and says where it is.

#[macro_use]
extern crate test_limit;

mod binary {
    mod again;
    mod agents;
    mod agents_accounts;
    mod agents_answers;
    mod agents_bad_input;
    mod agents_endings;
    mod agents_gates;
    mod agents_killed;
    mod agents_limits;
    mod agents_outages;
    mod agents_streams;
    mod agents_tools;
    mod all_land;
    mod api_pairs;
    mod archives;
    mod attempts;
    mod bad_input;
    mod cancel;
    mod carry;
    mod certificates;
    mod command_line;
    mod commands;
    mod commit_subjects;
    mod compaction;
    mod context_files;
    mod costs;
    mod demo;
    mod depends;
    mod dirty;
    mod disk;
    mod durable;
    mod each;
    mod eager;
    mod endings;
    mod engine_calls;
    mod engines;
    mod engines_and_saves;
    mod escapes;
    mod escapes_kit;
    mod failures;
    mod fallbacks;
    mod fallbacks_revoked;
    mod fan_out;
    mod faults;
    mod follow;
    mod frozen;
    mod fuzz_kills;
    mod fuzz_landing;
    mod gc;
    mod gc_faults;
    mod gc_kit;
    mod hostile;
    mod in_place;
    mod keys;
    mod kill;
    mod landing;
    mod landing_calls;
    mod landing_calls_branches;
    mod landing_escapes;
    mod landing_many;
    mod landing_odd;
    mod left_out;
    mod letter_case;
    mod limits;
    mod lines;
    mod live;
    mod logins;
    mod logs;
    mod long_output;
    mod model_keys;
    mod models;
    mod modes;
    mod names;
    mod nested;
    mod nested_cut_off;
    mod nested_kit;
    mod nested_landing;
    mod nested_locks;
    mod nested_odd;
    mod npm_workers;
    mod odd;
    mod onto;
    mod output;
    mod own_servers;
    mod plans;
    mod pool;
    mod power_cut;
    mod print;
    mod print_bad_input;
    mod print_killed;
    mod print_scripts;
    mod print_sessions;
    mod private;
    mod progress;
    mod provider_switches;
    mod readme;
    mod readme_commands;
    mod recovery;
    mod recovery_killed;
    mod reflink;
    mod registry_crate;
    mod renames;
    mod results;
    mod retry;
    mod retry_bad_input;
    mod secrets;
    mod series;
    mod session_options;
    mod settle;
    mod settle_agents;
    mod settle_branches;
    mod settle_branches_odd;
    mod settle_cases;
    mod settle_index;
    mod settle_odd;
    mod settle_programs;
    mod settle_ways;
    mod setup;
    mod setup_capture;
    mod shapes;
    mod siblings;
    mod slow_reader;
    mod small_runs;
    mod source;
    mod stack;
    mod strace;
    mod timing;
    mod undo;
    mod undo_branches;
    mod undo_nested;
    mod undo_races;
    mod union;
    mod verify;
    mod verify_bad_input;
    mod view;
    mod view_commands;
    mod view_earlier;
    mod view_ends;
    mod view_files;
    mod view_hostile;
    mod view_kit;
    mod view_latency;
    mod view_lists;
    mod view_notes;
    mod view_plain;
    mod view_sessions;
    mod view_steps;
    mod view_tmux;
    mod wire_apis;
    mod wire_streams;
    mod writers;
    mod yields;

    use tests::sandbox::Sandbox;

    /// Makes a place of a test's own for the binary that was just built.
    fn sandbox() -> Sandbox {
        Sandbox::new(env!("CARGO_BIN_EXE_regatta"))
    }

    /// The same on a disk, for what a file system in memory may do in another way.
    fn sandbox_on_disk() -> Sandbox {
        Sandbox::on_disk(env!("CARGO_BIN_EXE_regatta"))
    }
}
