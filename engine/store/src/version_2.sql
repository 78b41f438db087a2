ALTER TABLE run ADD COLUMN input_tokens INTEGER;
ALTER TABLE run ADD COLUMN output_tokens INTEGER;
ALTER TABLE run ADD COLUMN cache_read_tokens INTEGER;
ALTER TABLE run ADD COLUMN cache_write_tokens INTEGER;
ALTER TABLE run ADD COLUMN cost_nanodollars INTEGER;

ALTER TABLE task ADD COLUMN input_tokens INTEGER;
ALTER TABLE task ADD COLUMN output_tokens INTEGER;
ALTER TABLE task ADD COLUMN cache_read_tokens INTEGER;
ALTER TABLE task ADD COLUMN cache_write_tokens INTEGER;
ALTER TABLE task ADD COLUMN cost_nanodollars INTEGER;

CREATE INDEX run_open ON run (repo, number) WHERE state IN ('running', 'landing');
