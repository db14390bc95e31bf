//! The terminal: answers go to standard output, all other messages to standard error.

mod bug;
mod fold;
mod gate;
mod pager;
mod pages;
pub(crate) mod progress;

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

use crate::cli::ColorWhen;
use crate::cli::colors::HIGHLIGHT;
use crate::error::{self, Refusal, RefusalCandidate, RefusalCode};
use crate::format::{command_line, text, wrap};
use crate::system::env::{Elsewhere, Env, Streams, Terminal};
use crate::view::grid::{self, Column, Fit};
pub(crate) use bug::tell_of_bugs;
use fold::FoldingStream;
use gate::{OutputFilter, guarded};
pub(crate) use pager::Pager;
use pages::Pages;
use progress::{Pauses, Progress, Showing};

/// The streams of a run.
pub(crate) struct Ui {
    streams: Streams,
    out: FoldingStream<OutputFilter<BufWriter<Pages>>>,
    err: Box<dyn Write + Send>,
    quiet: bool,
    columns: usize,
    /// The width of the terminal on standard error; `None` for another stream.
    err_width: Option<usize>,
    /// The home and host of this run if they are not the default, for the commands that it prints.
    elsewhere: Elsewhere,
    pauses: Pauses,
    /// Styles for standard output; empty without colours.
    pub styles: Styles,
    err_styles: Styles,
}

/// The styles of text; all are empty without colours.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Styles {
    /// Names of columns and fields.
    pub header: Style,
    /// Names, commands and keys.
    pub strong: Style,
    /// Text that matches the words of a search.
    pub found: Style,
    /// The row that enter selects.
    pub chosen: Style,
    /// Less important text.
    pub faint: Style,
    /// A problem that can be fixed.
    pub warning: Style,
    /// Failure.
    pub error: Style,
}

impl Styles {
    fn colored() -> Self {
        Self {
            header: Style::new().bold(),
            strong: Style::new().bold(),
            found: HIGHLIGHT,
            chosen: Style::new().invert(),
            faint: Style::new().dimmed(),
            warning: HIGHLIGHT,
            error: HIGHLIGHT,
        }
    }
}

/// Prints an answer of one line of the program's own text, without opening a stream, which would be slower.
#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to the terminal")]
pub(crate) fn answer_in_a_line(line: &'static str) {
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        match rustix::io::retry_on_intr(|| rustix::io::write(rustix::stdio::stdout(), rest)) {
            Ok(written @ 1..) => rest = &rest[written..],
            // The reader closed the stream.
            _ => return,
        }
    }
}

impl Ui {
    /// Opens the streams.
    pub(crate) fn new(streams: &Streams, env: Option<&Env>, quiet: bool, color: ColorWhen) -> Self {
        let wants = |is_terminal: bool| match color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => env.is_some_and(|env| env.terminal.colors.unwrap_or(is_terminal)),
        };
        let styles = |colored| if colored { Styles::colored() } else { Styles::default() };
        let [is_out, is_err] = streams.are_terminals();
        let is_colored = wants(is_out);
        Self {
            streams: streams.clone(),
            out: FoldingStream::new(OutputFilter::new(
                BufWriter::with_capacity(64 * 1024, Pages::new(streams.out())),
                is_colored,
            )),
            err: streams.err(),
            quiet,
            columns: env.map_or(&Terminal::default(), |env| &env.terminal).columns(),
            err_width: env.and_then(|env| env.terminal.err_width).map(usize::from),
            pauses: env.map(Pauses::from_env).unwrap_or_default(),
            elsewhere: env.map(|env| env.invocation.elsewhere.clone()).unwrap_or_default(),
            styles: styles(is_colored),
            err_styles: styles(wants(is_err)),
        }
    }

    /// Returns the styles for standard error.
    pub(crate) fn err_styles(&self) -> &Styles {
        &self.err_styles
    }

    /// Returns the stream of the answer.
    pub(crate) fn data(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Returns whether both answers and messages are coloured.
    pub(crate) fn has_colors(&self) -> bool {
        let plain = Style::new();
        self.styles.error != plain && self.err_styles.error != plain
    }

    /// Returns whether `--quiet` is set, so that only the answer is printed.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Starts to show progress, if standard error is a terminal.
    pub(crate) fn progress(&self, what: &'static str, total: usize) -> Progress {
        Progress::new(what, total, self.pauses, self.is_watched(), self.err_width, &self.elsewhere)
    }

    /// Starts to show the progress of threads, if standard error is a terminal and they are slow. Dropping the value
    /// removes the line, which must happen before any other message.
    pub(crate) fn watch(&self, what: &'static str) -> Showing {
        Showing::new(what, self.pauses, self.is_watched(), self.err_width)
    }

    fn is_watched(&self) -> bool {
        !self.quiet && self.streams.are_terminals()[1]
    }

    /// Wraps the lines of the output between words until the next flush, if standard output is a terminal.
    pub(crate) fn fold(&mut self, env: &Env) -> io::Result<()> {
        self.out.set_width(env.terminal.screen_width().map(usize::from))
    }

    fn pages(&mut self) -> &mut Pages {
        self.out.inner().inner().get_mut()
    }

    /// Shows the output until the next flush in a pager, if it is longer than the screen, with its lines wrapped
    /// between words.
    pub(crate) fn page(&mut self, env: &Env) -> io::Result<()> {
        self.hold_pages(env);
        self.fold(env)
    }

    /// Like [`Self::page`], without wrapping.
    pub(crate) fn hold_pages(&mut self, env: &Env) {
        let terminal = &env.terminal;
        let size = terminal.width.zip(terminal.height).filter(|_| !terminal.is_dumb);
        if let Some(((columns, rows), pager)) = size.and_then(|size| Some((size, Pager::chosen(env)?))) {
            self.pages().hold_text(pager, columns.into(), rows.into());
        }
    }

    /// Returns whether a pager has the screen.
    pub(crate) fn is_paged(&mut self) -> bool {
        self.pages().is_running()
    }

    /// Flushes the output of an unfinished answer.
    pub(crate) fn hand_on(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Flushes the output; if a pager shows it, waits until the pager ends.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.set_width(None)?;
        self.out.flush()?;
        self.pages().end()
    }

    /// Prints a note that helps to understand the answer.
    pub(crate) fn print_note(&mut self, message: &str) {
        self.lines_of_note(message).iter().for_each(|line| self.print_line(format_args!("{line}")));
    }

    /// Returns the number of lines that notes take on the terminal, if they are shown there.
    pub(crate) fn height_of(&self, notes: &[String]) -> usize {
        let Some(width) = self.err_width else { return 0 };
        notes.iter().flat_map(|note| self.lines_of_note(note)).map(|line| line.width().div_ceil(width).max(1)).sum()
    }

    fn lines_of_note(&self, message: &str) -> Vec<String> {
        if self.quiet { Vec::new() } else { self.fitted(&text::unbroken(&self.pasteable(message))) }
    }

    /// Wraps a line between words if standard error is a terminal.
    fn fitted(&self, line: &str) -> Vec<String> {
        let margin = line.len() - line.trim_start().len() + 2;
        self.err_width.map_or_else(|| vec![line.to_owned()], |width| wrap::broken(line, width, margin))
    }

    fn say_fitted(&mut self, line: &str) {
        self.fitted(&text::unbroken(line)).iter().for_each(|line| self.print_line(format_args!("{line}")));
    }

    /// Prints a message after a label in a style.
    fn say_labelled(&mut self, label: &str, style: Style, message: &str) {
        let text = format!("{label} {}", indented(&self.pasteable(message)));
        let lines: Vec<String> = text.split('\n').flat_map(|line| self.fitted(line)).collect();
        let lines = lines.join("\n");
        self.print_line(format_args!("{style}{label}{style:#}{}", &lines[label.len()..]));
    }

    /// Returns a message with commands for the home and host of this run.
    fn pasteable<'t>(&self, message: &'t str) -> Cow<'t, str> {
        command_line::all_in_home(message, &self.elsewhere)
    }

    /// Prints a warning about a problem that does not stop the run.
    pub(crate) fn warn(&mut self, message: &str) {
        if !self.quiet {
            self.say_labelled("warning:", self.err_styles.warning, message);
        }
    }

    /// Prints the reason why the run failed, with a command to type next.
    pub(crate) fn error(&mut self, error: &anyhow::Error) {
        if error.downcast_ref::<Refusal>().is_some_and(|refusal| refusal.code == RefusalCode::Declined) {
            // A declined confirmation is not an error.
            return self.print_note("Nothing was changed.");
        }
        self.say_labelled("error:", self.err_styles.error, &format!("{error:#}"));
        if let Some(refusal) = error.downcast_ref::<Refusal>() {
            self.candidates(refusal);
        }
        if let Some(hint) = error::hint(error) {
            self.say_labelled("hint:", self.err_styles.strong, hint);
        }
    }

    /// Prints the candidates to choose from.
    fn candidates(&mut self, refusal: &Refusal) {
        if refusal.code == RefusalCode::Ambiguous {
            let columns = self.columns;
            candidates(&refusal.candidates, columns).iter().for_each(|line| self.print_line(format_args!("{line}")));
        }
        for candidate in refusal.candidates.iter().filter(|_| refusal.code != RefusalCode::Ambiguous) {
            let dir = candidate.dir.as_deref().unwrap_or("directory unknown");
            let at = Some(candidate.row.active.as_str()).filter(|active| !active.is_empty()).unwrap_or("time unknown");
            let title = candidate.title.as_deref().map(text::one_line).unwrap_or_default();
            let line =
                format!("  {}  {}  {at}  {}", candidate.select, text::one_line(dir), text::truncated(&title, 60));
            self.say_fitted(&line);
            let messages = candidate.messages.map(|count| format!(", {count} messages")).unwrap_or_default();
            let differs = candidate.differs.as_ref().map(|differs| format!(", {differs}")).unwrap_or_default();
            let line = format!("      {}{messages}{differs}", candidate.path);
            self.say_fitted(&line);
        }
    }

    /// Reads all of standard input, which must be text of at most `limit` bytes.
    pub(crate) fn read_input(&mut self, limit: u64) -> io::Result<String> {
        String::from_utf8(self.read_bytes(limit)?).map_err(|_| io::Error::other("it is not UTF-8"))
    }

    /// Reads all of standard input, which must not be longer than `limit` bytes.
    pub(crate) fn read_bytes(&mut self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.input().take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::other(format!("it is larger than {limit} bytes")));
        }
        Ok(bytes)
    }

    /// Returns standard input, for input that is too long for memory.
    pub(crate) fn input(&mut self) -> impl BufRead + use<> {
        BufReader::with_capacity(64 * 1024, self.streams.input())
    }

    /// Asks a yes-or-no question, below its explanation; no answer means no.
    pub(crate) fn confirm(&mut self, about: &[String], question: &str) -> io::Result<bool> {
        self.flush()?;
        let width = self.err_width.unwrap_or(usize::MAX);
        let lines = about.iter().flat_map(|line| wrap::folded(&text::unbroken(&self.pasteable(line)), width));
        let about: String = lines.map(|line| line + "\n").collect();
        let question = format!("{} [y/N] ", indented(question));
        let question: Vec<String> = question.split('\n').flat_map(|line| wrap::folded(line, width)).collect();
        self.err.write_all(format!("{about}{} ", question.join("\n")).as_bytes())?;
        self.err.flush()?;
        let answer = self.streams.line()?;
        Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    /// Prints the help that clap renders.
    pub(crate) fn help(&mut self, help: &clap::builder::StyledStr) {
        let has_colors = self.styles.error != Style::new();
        let text = if has_colors { help.ansi().to_string() } else { help.to_string() };
        // If the reader closed the stream, the help is not needed.
        let _ = self.out.inner().inner().write_all(text.as_bytes()).and_then(|()| self.flush());
    }

    /// Prints clap's message about wrong arguments, which quotes them.
    pub(crate) fn usage(&mut self, error: &clap::Error) {
        let has_colors = self.err_styles.error != Style::new();
        let words = error.render();
        let words = if has_colors { words.ansi().to_string() } else { words.to_string() };
        self.print_line(format_args!("{}", guarded(words.trim_end_matches('\n'), has_colors)));
    }

    /// Prints the standard error of another host.
    pub(crate) fn relay(&mut self, host: &str, words: &str) {
        let style = self.err_styles.faint;
        for line in words.lines() {
            let line = guarded(line, self.err_styles.error != Style::new()).into_owned();
            self.print_line(format_args!("{style}{}:{style:#} {line}", text::one_line(host)));
        }
    }

    /// Prints an error as one JSON object, for scripts.
    pub(crate) fn error_json(&mut self, json: &str) {
        self.print_line(format_args!("{json}"));
    }

    fn print_line(&mut self, line: fmt::Arguments<'_>) {
        if self.pages().is_on() {
            // A message would be lost on the screen of a pager.
            let _ = self.flush();
        }
        // If standard error cannot be written, there is no other place to report it.
        let _ = self.err.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.err.flush());
    }
}

/// Makes text safe, and begins every line but the first with a blank, so that foreign text cannot imitate a line of
/// rejoin.
fn indented(text: &str) -> String {
    let mut lines = String::new();
    for (at, line) in text::printable(text).split('\n').enumerate() {
        let margin = if line.starts_with(' ') { "\n" } else { "\n  " };
        lines.extend([if at > 0 { margin } else { "" }, line]);
    }
    lines
}

/// Maximum columns of a directory.
const WIDEST_DIR: usize = 30;

/// Returns one line per session: agent, the word to type for it, title, directory and the last activity.
fn candidates(candidates: &[RefusalCandidate], width: usize) -> Vec<String> {
    let title = |one: &RefusalCandidate| one.title.as_deref().map(text::one_line).unwrap_or_default().into_owned();
    let dir = |one: &RefusalCandidate| text::truncated_path(&text::one_line(&one.row.dir), WIDEST_DIR).into_owned();
    let columns = vec![
        Column::new("", Fit::Whole, candidates.iter().map(|one| one.agent.as_str())),
        Column::new("", Fit::Whole, candidates.iter().map(|one| text::one_line(&one.select))),
        Column::new("", Fit::Text, candidates.iter().map(title)),
        Column::new("", Fit::Path, candidates.iter().map(dir)),
        Column::new("", Fit::Whole, candidates.iter().map(|one| one.row.active.as_str())),
    ];
    // The text to type is never cut.
    let width = width.saturating_sub(2).max(grid::needed(&columns[..2], [0; 2]));
    grid::lines(columns, width).map(|line| format!("  {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::CandidateTexts;

    #[test]
    fn candidate_line_identifies_session_and_fits() {
        let one = |id: &str, title: &str| RefusalCandidate {
            agent: "claude".to_owned(),
            select: id.to_owned(),
            title: Some(title.to_owned()),
            row: CandidateTexts { dir: "~/app".to_owned(), active: "yesterday".to_owned() },
            ..RefusalCandidate::default()
        };
        let candidates = [one("5d1f", "Fix the parser of the\nconfiguration"), one("6a\x1b[2J", "x")];
        assert_eq!(
            super::candidates(&candidates, 60),
            [
                "  claude  5d1f         Fix the parser of …  ~/app  yesterday",
                "  claude  6a\\u{1b}[2J  x                    ~/app  yesterday",
            ]
        );
        assert_eq!(super::candidates(&candidates, 20), ["  claude  5d1f", "  claude  6a\\u{1b}[2J"]);
    }
}
