//! The result of a run, as it is written at the end.

use std::io::{self, Write};

use super::super::answers::{Answers, write_answers, write_whole};
use super::super::line_wrap::wrapped;
use super::super::missing_command::CommandFinder;
use super::super::next_commands::{LandedTasks, TasksToRetry, branch_of, closing_lines};
use super::super::printable::one_line;
use super::super::run_view::EndCounts;
use super::super::task_table::{Table, TableRows, write_table};
use super::super::task_view::TaskStage;
use super::super::unverified::unverified_lines;
use super::rows::{
    failed_work, has_landed, kept_reason, left_out_files, only_answer, table_row, task_answer,
    unverified_work, why_it_failed,
};
use super::{Closing, RunRenderer};
use crate::args::Verbosity;
use regatta::text::left_out_lines;

impl RunRenderer {
    pub(super) fn report(&mut self) -> io::Result<()> {
        let Some(head) = self.run.head() else { return Ok(()) };
        if let Some(answer) = only_answer(&self.run) {
            write_whole(&mut self.streams.out, answer)?;
            return self.streams.out.flush();
        }
        let quiet = self.view.verbosity == Verbosity::Quiet;
        let finder =
            self.hints.as_ref().map(|hints| CommandFinder::of(hints, &head.carried, &head.setups));
        let rows = self.run.rows().iter().map(|row| table_row(row, finder.as_ref()));
        let table = Table {
            rows: rows.collect(),
            ms: self.run.end().map(|(totals, _)| totals.ms),
            room: self.view.room(),
            palette: self.view.palette,
            rows_shown: if quiet { TableRows::Problems } else { TableRows::Folded },
            all: self
                .hints
                .as_ref()
                .map(|hints| hints.command(&format!("runs show {} --all", head.run))),
        };
        let room = self.view.room();
        let out = &mut self.streams.out;
        let block = |out: &mut dyn Write, lines: &[String]| match lines {
            [] => Ok(()),
            lines => writeln!(out, "\n{}", wrapped(&lines.join("\n"), room)),
        };
        if let (Some(label), false) = (&head.label, quiet) {
            let title = format!("run {} · {}", head.run, one_line(label));
            writeln!(out, "{}", wrapped(&title, room))?;
        }
        write_table(out, &table)?;
        let left_out: Vec<_> = self.run.rows().iter().filter_map(left_out_files).collect();
        if !quiet {
            block(out, &left_out_lines(&left_out))?;
        }
        let unverified: Vec<_> = self.run.rows().iter().filter_map(unverified_work).collect();
        block(out, &unverified_lines(&unverified))?;
        write_answers(
            out,
            &Answers {
                run: &head.run,
                answers: self.run.rows().iter().filter_map(task_answer).collect(),
                hints: self.hints.as_ref(),
                room,
                palette: self.view.palette,
            },
        )?;
        if let (Some(hints), Some(finder), false, Closing::Lines) =
            (&self.hints, &finder, quiet, self.closing)
        {
            let mut lines = closing_lines(
                &head.run,
                head.merge,
                &LandedTasks {
                    count: self.run.rows().iter().filter(|row| has_landed(row)).count(),
                    branch: self.run.rows().iter().find_map(|row| match &row.stage {
                        TaskStage::Ended { landing, .. } => branch_of(landing.as_ref()),
                        _ => None,
                    }),
                    onto: head.onto.as_deref(),
                },
                &self.run.rows().iter().filter_map(kept_reason).collect::<Vec<_>>(),
                &self
                    .run
                    .rows()
                    .iter()
                    .filter_map(|row| failed_work(row, finder))
                    .collect::<Vec<_>>(),
                hints,
            );
            let reasons = self.run.rows().iter().filter_map(why_it_failed);
            lines.extend(finder.lines(reasons));
            let EndCounts { failed, cancelled, .. } = self.run.ended();
            let retry = TasksToRetry { failed, cancelled, interrupted: 0 };
            lines.extend(retry.line(&head.run, hints));
            block(out, &lines)?;
        }
        out.flush()
    }
}
