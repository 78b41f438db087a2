# Short names for long commands. A convenience: nothing needs it.

# Everything CI checks.
ci:
    .ci/run

# The tests of the README.
test *words:
    cargo test {{words}}

# The tests that drive the built binary.
binary *words:
    cargo test --test binary {{words}}

# Both fuzzers, with seeds of the moment: `just fuzz 3000` for so many rounds of each.
fuzz rounds="1000":
    REGATTA_SEED=$(date +%s) REGATTA_ROUNDS={{rounds}} cargo test --test binary fuzz_

# The fuzzers for as long as nobody stops them or something fails.
soak:
    while REGATTA_SEED=$(date +%s) REGATTA_ROUNDS=2000 cargo test --test binary fuzz_; do :; done

# What clippy and rustfmt have to say.
lint:
    cargo clippy --workspace --all-targets -- -D warnings
    cargo fmt --all --check

# Measurements in their long form. CI has the short one, with the same bounds.
bench:
    cargo bench

# Whether the measurements run at all, in the dev profile: one round of a few tasks.
bench-trial:
    cargo bench --profile dev

# The sample, live.
demo:
    cargo run --quiet -- demo

# Licences and advisories of everything we use (needs cargo-deny).
deny:
    cargo deny check
