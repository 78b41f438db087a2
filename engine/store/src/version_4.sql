ALTER TABLE run ADD COLUMN cost_source TEXT;

ALTER TABLE task ADD COLUMN cost_source TEXT;
