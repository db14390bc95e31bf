//! A progress line: on a terminal, and removed when the work is done.

use std::fmt::Debug;
use std::io::{self, Stderr, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::format::command_line::in_home;
use crate::format::text;
use crate::system::env::{Elsewhere, Env};
use crate::system::signals;
use crate::system::watch::{ProgressObserver, Watcher};

/// Characters of the bar.
const WIDTH: usize = 30;
/// Erases the line.
const ERASE: &str = "\r\x1b[K";

/// Times without output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// Before the first line; most work ends earlier.
    first: Duration,
    /// Between two lines, so that they can be read.
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), next: Duration::from_millis(150) }
    }
}

impl Pauses {
    /// Reads the pauses that a test sets, in milliseconds; only debug builds read them.
    pub(super) fn from_env(env: &Env) -> Self {
        let wish = env.variable("REJOIN_PAUSE").filter(|_| cfg!(debug_assertions));
        let pause = wish.and_then(|wish| wish.to_str()?.parse().ok()).map(Duration::from_millis);
        pause.map_or_else(Self::default, |pause| Self { first: pause, next: pause })
    }
}

/// The messages for an interrupt, one for each piece of work that is shown.
static ON_INTERRUPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Work that is shown while this value lives: Ctrl-C stops it with a message.
#[derive(Debug)]
struct ShownWork;

impl ShownWork {
    fn begin(message: String) -> Self {
        signals::before_interrupt(report_interrupt);
        messages().push(message);
        Self
    }
}

impl Drop for ShownWork {
    fn drop(&mut self) {
        messages().pop();
    }
}

fn messages() -> MutexGuard<'static, Vec<String>> {
    ON_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the message below the progress line.
fn report_interrupt() {
    if let Some(message) = messages().last() {
        // The program ends here anyway, so an error is ignored.
        let _ = terminal().write_all(format!("\n{message}\n").as_bytes());
    }
}

/// The progress of one thread; dropping it removes the line.
#[derive(Debug)]
pub(crate) struct Progress {
    total: usize,
    _work: Option<ShownWork>,
    line: Option<ProgressLine<Stderr>>,
}

impl Progress {
    pub(super) fn new(
        what: &'static str,
        total: usize,
        pauses: Pauses,
        is_watched: bool,
        width: Option<usize>,
        elsewhere: &Elsewhere,
    ) -> Self {
        // For a change, show progress from the beginning.
        let pauses = Pauses { first: pauses.next, ..pauses };
        let list = in_home("rejoin undo --list", elsewhere);
        let message = match what {
            "Removing" | "Moving" => {
                format!("Stopped. `{list}` shows what was done; the next change repairs what was only started.")
            }
            _ => "Stopped. What was written stays.".to_owned(),
        };
        let work = is_watched.then(|| ShownWork::begin(message));
        Self { total, _work: work, line: is_watched.then(|| ProgressLine::new(what, pauses, width, terminal())) }
    }

    /// Shows the number of completed items.
    pub(crate) fn show_done(&mut self, done: usize) {
        if let Some(line) = self.line.as_mut().filter(|line| line.is_due()) {
            line.draw_line(done, self.total, "");
        }
    }
}

/// The progress of threads that report to the watcher; dropping it removes the line, even if threads still report.
#[derive(Debug)]
pub(crate) struct Showing {
    tally: Option<Arc<ItemCounter<Stderr>>>,
    _work: Option<ShownWork>,
}

impl Showing {
    pub(super) fn new(what: &'static str, pauses: Pauses, is_watched: bool, width: Option<usize>) -> Self {
        let tally = is_watched.then(|| Arc::new(ItemCounter::new(ProgressLine::new(what, pauses, width, terminal()))));
        Self { tally, _work: is_watched.then(|| ShownWork::begin("Stopped.".to_owned())) }
    }

    /// Returns the watcher to report to.
    pub(crate) fn watcher(&self) -> Watcher {
        self.tally.as_ref().map(|tally| Watcher::new(Arc::<ItemCounter<Stderr>>::clone(tally))).unwrap_or_default()
    }

    /// Removes the line; it is not shown again.
    pub(crate) fn end(&self) {
        if let Some(tally) = &self.tally {
            tally.end();
        }
    }

    /// Removes the line until threads report again, so that another message can be printed.
    pub(crate) fn clear(&self) {
        if let Some(tally) = &self.tally {
            tally.clear();
        }
    }
}

impl Drop for Showing {
    fn drop(&mut self) {
        self.end();
    }
}

/// Counts completed items across threads. A thread that finds another one drawing skips the redraw.
#[derive(Debug)]
struct ItemCounter<W: Write> {
    total: AtomicUsize,
    done: AtomicUsize,
    found: Mutex<Option<FoundSoFar>>,
    /// `None` after the end.
    line: Mutex<Option<ProgressLine<W>>>,
}

impl<W: Write> ItemCounter<W> {
    fn new(line: ProgressLine<W>) -> Self {
        let (total, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { total, done, found: Mutex::new(None), line: Mutex::new(Some(line)) }
    }

    fn show_count(&self) {
        while let Some(drawn) = self.draw_count() {
            // Another thread may have skipped its redraw meanwhile, and this one may be the last to draw.
            if self.done.load(Ordering::Relaxed) == drawn {
                break;
            }
        }
    }

    /// Draws the line if it is due and no other thread draws it; returns the number of completed items on it.
    fn draw_count(&self) -> Option<usize> {
        let mut line = self.line.try_lock().ok()?;
        let line = line.as_mut().filter(|line| line.is_due())?;
        // Read while the lock is held, so that the shown count never decreases.
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        // A thread that finds something does not wait for the terminal.
        let found = self.found_so_far().as_ref().map(|found| format!(", {} found: {}", found.count, found.title));
        line.draw_line(done, total, found.as_deref().unwrap_or_default());
        Some(done)
    }

    fn found_so_far(&self) -> MutexGuard<'_, Option<FoundSoFar>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clear(&self) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.as_mut() {
            line.clear();
        }
    }

    fn end(&self) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<W: Write + Debug + Send> ProgressObserver for ItemCounter<W> {
    fn turn_to(&self, what: &'static str) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.as_mut().filter(|line| line.what != what) {
            line.what = what;
            *self.found_so_far() = None;
            self.total.store(0, Ordering::Relaxed);
            self.done.store(0, Ordering::Relaxed);
        }
    }

    fn begin(&self, count: usize) {
        self.total.fetch_add(count, Ordering::Relaxed);
        self.show_count();
    }

    fn done(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
        self.show_count();
    }

    fn found(&self, worth: f32, title: &dyn Fn() -> String) {
        let mut found = self.found_so_far();
        let found = found.get_or_insert(FoundSoFar { count: 0, worth: f32::MIN, title: String::new() });
        found.count += 1;
        if worth > found.worth {
            (found.worth, found.title) = (worth, title());
        }
    }
}

/// The line on the terminal.
#[derive(Debug)]
struct ProgressLine<W: Write> {
    what: &'static str,
    /// Time without output from now on.
    pause: Duration,
    next: Duration,
    last: Instant,
    is_shown: bool,
    /// The width of the terminal, if it is known.
    width: Option<usize>,
    out: W,
}

/// The number of results of a search, and the title of the best one.
#[derive(Debug)]
struct FoundSoFar {
    count: usize,
    worth: f32,
    title: String,
}

impl<W: Write> ProgressLine<W> {
    fn new(what: &'static str, pauses: Pauses, width: Option<usize>, out: W) -> Self {
        let Pauses { first: pause, next } = pauses;
        Self { what, pause, next, last: Instant::now(), is_shown: false, width, out }
    }

    /// Returns whether the pause after the last output is over.
    fn is_due(&self) -> bool {
        self.last.elapsed() >= self.pause
    }

    fn draw_line(&mut self, done: usize, total: usize, found: &str) {
        self.last = Instant::now();
        self.pause = self.next;
        self.is_shown = true;
        // A longer line would continue on the next one, which is not erased.
        let width = self.width.map_or(usize::MAX, |width| width.saturating_sub(1));
        let bar = Some(line(self.what, done, total)).filter(|line| found.is_empty() && line.len() <= width);
        let text = bar.unwrap_or_else(|| format!("{} {}/{total}{found}", self.what, done.min(total)));
        self.write(&format!("{ERASE}{}", text::truncated(&text, width)));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.write(ERASE);
        }
    }

    fn write(&mut self, text: &str) {
        // A line that cannot be shown is not important.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for ProgressLine<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(what: &str, done: usize, total: usize) -> String {
    let done = done.min(total);
    let full = (done * WIDTH).checked_div(total).unwrap_or(0);
    format!("{what} [{}{}] {done}/{total}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[expect(clippy::disallowed_methods, reason = "ui writes to the terminal")]
fn terminal() -> Stderr {
    io::stderr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::parallel;

    const ALWAYS: Pauses = Pauses { first: Duration::ZERO, next: Duration::ZERO };

    /// The output, which outlives the line.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("what is written").clone()).expect("UTF-8")
        }

        /// Returns the completed and total numbers of each line.
        fn counts(&self) -> Vec<(usize, usize)> {
            let text = self.text();
            let numbers = text.split(ERASE).filter_map(|line| line.rsplit_once("] ")?.1.split_once('/'));
            numbers.map(|(done, total)| (done.parse().expect("a number"), total.parse().expect("a number"))).collect()
        }
    }

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("what is written").write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn tally(pauses: Pauses) -> (ItemCounter<Paper>, Paper) {
        tally_on(80, pauses)
    }

    fn tally_on(width: usize, pauses: Pauses) -> (ItemCounter<Paper>, Paper) {
        let paper = Paper::default();
        (ItemCounter::new(ProgressLine::new("Reading", pauses, Some(width), paper.clone())), paper)
    }

    #[test]
    fn progress_bar_never_exceeds_its_width() {
        assert_eq!(line("Removing", 5, 10), format!("Removing [{}{}] 5/10", "#".repeat(15), " ".repeat(15)));
        assert!(line("Removing", 11, 10).ends_with(&format!("[{}] 10/10", "#".repeat(WIDTH))));
        assert!(line("Removing", 0, 0).ends_with("0/0"));
    }

    #[test]
    fn progress_counts_never_decrease_or_exceed_total() {
        let (tally, paper) = tally(ALWAYS);
        for round in 1..=3 {
            tally.begin(1000);
            parallel::map(0..1000, |_| tally.done(1));
            let counts = paper.counts();
            assert!(counts.iter().all(|(done, total)| done <= total && *total <= round * 1000), "{counts:?}");
            assert!(counts.is_sorted() && counts.len() > round, "{counts:?}");
            assert_eq!(counts.last(), Some(&(round * 1000, round * 1000)), "no thread skips the last count");
        }
    }

    #[test]
    fn progress_appears_after_first_delay() {
        let (tally, paper) = tally(Pauses { first: Duration::MAX, ..ALWAYS });
        tally.begin(2);
        tally.done(2);
        tally.turn_to("Looking closer");
        tally.begin(1);
        tally.end();
        assert_eq!(paper.text(), "");
    }

    #[test]
    fn progress_is_redrawn_after_the_interval() {
        let (tally, paper) = tally(Pauses { next: Duration::MAX, ..ALWAYS });
        tally.begin(2);
        tally.done(1);
        tally.done(1);
        assert_eq!(paper.counts(), [(0, 2)]);
    }

    #[test]
    fn progress_line_stays_removed_after_end() {
        let (tally, paper) = tally(ALWAYS);
        tally.begin(2);
        tally.done(1);
        assert!(paper.text().ends_with("1/2"));
        tally.end();
        let text = paper.text();
        assert!(text.ends_with(&format!("1/2{ERASE}")), "{text:?}");
        tally.done(1);
        tally.turn_to("Looking closer");
        tally.begin(1);
        tally.end();
        assert_eq!(paper.text(), text);
    }

    #[test]
    fn progress_restarts_count_for_each_phase() {
        let (tally, paper) = tally(ALWAYS);
        tally.begin(1);
        tally.done(1);
        for total in [3, 6] {
            // The numbers of several rounds are added up.
            tally.turn_to("Looking closer");
            tally.begin(3);
            tally.done(3);
            assert_eq!(paper.counts().last(), Some(&(total, total)));
        }
        let text = paper.text();
        assert_eq!((text.matches("Reading [").count(), text.matches("Looking closer [").count()), (2, 4), "{text:?}");
    }

    #[test]
    fn progress_of_change_appears_sooner_than_of_read() {
        let usual = Pauses::default();
        assert!(usual.first > usual.next);
        let progress = Progress::new("Removing", 1, usual, true, None, &Elsewhere::default());
        assert_eq!(progress.line.as_ref().map(|line| line.pause), Some(usual.next));
        let showing = Showing::new("Reading", usual, true, None);
        let line = showing.tally.as_ref().map(|tally| tally.line.lock().expect("a line"));
        assert_eq!(line.and_then(|line| Some(line.as_ref()?.pause)), Some(usual.first));
    }

    #[test]
    fn progress_shows_best_search_result() {
        let (tally, paper) = tally_on(46, ALWAYS);
        tally.begin(3);
        for (worth, title) in [(0.5, "Another page"), (1.0, "Find out why cron mails stopped"), (1.0, "Mails")] {
            tally.found(worth, &|| title.to_owned());
            tally.done(1);
        }
        let text = paper.text();
        let last = text.rsplit(ERASE).next().unwrap_or_default();
        assert_eq!(last, "Reading 3/3, 3 found: Find out why cron mail…");
        assert_eq!(last.chars().count(), 45);
        tally.turn_to("Looking closer");
        tally.begin(1);
        assert!(paper.text().ends_with("Looking closer 0/1"), "there is no room for a bar: {:?}", paper.text());
    }

    #[test]
    fn progress_is_off_without_a_terminal() {
        let showing = Showing::new("Reading", ALWAYS, false, None);
        assert_eq!(format!("{:?}", showing.watcher()), format!("{:?}", Watcher::default()));
    }

    #[test]
    fn messages_clear_progress_line() {
        let (tally, paper) = tally(ALWAYS);
        tally.begin(2);
        tally.done(1);
        tally.clear();
        assert!(paper.text().ends_with(ERASE), "{:?}", paper.text());
        let before = paper.text();
        tally.clear();
        assert_eq!(paper.text(), before, "there is nothing to take away");
        tally.done(1);
        assert_eq!(paper.counts().last(), Some(&(2, 2)));
    }
}
