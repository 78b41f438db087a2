CREATE TABLE run (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    name       TEXT NOT NULL UNIQUE,
    label      TEXT,
    repo       ANY NOT NULL,
    subfolder  ANY NOT NULL,
    state      TEXT NOT NULL,
    started    TEXT NOT NULL,
    finished   TEXT,
    exit_code  INTEGER,
    totals     TEXT,
    spec       TEXT NOT NULL
) STRICT;

CREATE INDEX run_by_repo ON run (repo, number);

CREATE TABLE task (
    number          INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    run             INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position        INTEGER NOT NULL,
    name            TEXT NOT NULL COLLATE NOCASE,
    title           TEXT NOT NULL,
    state           TEXT NOT NULL,
    attempt         INTEGER NOT NULL DEFAULT 0,
    started         TEXT,
    finished        TEXT,
    ms              INTEGER,
    failure_class   TEXT,
    failure_message TEXT,
    report          TEXT,
    capture         TEXT,
    files           INTEGER,
    added           INTEGER,
    removed         INTEGER,
    discarded       TEXT,
    spec            TEXT NOT NULL,
    UNIQUE (run, position),
    UNIQUE (run, name)
) STRICT;

CREATE TABLE attempt (
    task            INTEGER NOT NULL REFERENCES task (number) ON DELETE CASCADE,
    attempt         INTEGER NOT NULL,
    started         TEXT,
    session_started TEXT,
    workspace       TEXT,
    captured        TEXT,
    capture         TEXT,
    files           INTEGER,
    added           INTEGER,
    removed         INTEGER,
    finished        TEXT,
    PRIMARY KEY (task, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE transition (
    seq   INTEGER PRIMARY KEY AUTOINCREMENT,
    at    TEXT NOT NULL,
    run   INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    task  INTEGER REFERENCES task (number) ON DELETE CASCADE,
    type  TEXT NOT NULL,
    entry TEXT NOT NULL
) STRICT;

CREATE INDEX transition_by_run ON transition (run, seq);
CREATE INDEX transition_by_task ON transition (task, seq);

CREATE TABLE landing (
    transition INTEGER NOT NULL REFERENCES transition (seq) ON DELETE CASCADE,
    task       INTEGER NOT NULL REFERENCES task (number) ON DELETE CASCADE,
    at         TEXT NOT NULL,
    result     TEXT NOT NULL,
    branch     TEXT,
    conflicts  TEXT,
    message    TEXT,
    waits_on   TEXT,
    PRIMARY KEY (transition, task)
) STRICT, WITHOUT ROWID;

CREATE INDEX landing_by_task ON landing (task, transition);
