ALTER TABLE run ADD COLUMN cache_saving_nanodollars INTEGER;

ALTER TABLE task ADD COLUMN cache_saving_nanodollars INTEGER;
