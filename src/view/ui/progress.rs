//! A line that shows how far something is: on a terminal, and gone when it is done.

use std::fmt::Debug;
use std::io::{self, Stderr, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::format::command_line::in_home;
use crate::system::env::{Elsewhere, Env};
use crate::system::signals;
use crate::system::watch::{Watch, Watcher};

/// How many characters the bar has.
const WIDTH: usize = 30;
/// Takes the line away.
const ERASE: &str = "\r\x1b[K";

/// How long nothing is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// Before the first line; most work is done before anyone wonders.
    first: Duration,
    /// Between two lines, because no one reads faster.
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), next: Duration::from_millis(150) }
    }
}

impl Pauses {
    /// Reads what a test asks for: every pause in milliseconds, to which only builds for development listen.
    pub(super) fn from_env(env: &Env) -> Self {
        let wish = env.variable("REJOIN_PAUSE").filter(|_| cfg!(debug_assertions));
        let pause = wish.and_then(|wish| wish.to_str()?.parse().ok()).map(Duration::from_millis);
        pause.map_or_else(Self::default, |pause| Self { first: pause, next: pause })
    }
}

/// The messages for an interrupt, one for each piece of work that is shown.
static ON_INTERRUPT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Work that is shown, for as long as this lives: Ctrl-C stops it with a message.
#[derive(Debug)]
struct Work;

impl Work {
    fn begin(message: String) -> Self {
        signals::before_interrupt(report_interrupt);
        messages().push(message);
        Self
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        messages().pop();
    }
}

fn messages() -> MutexGuard<'static, Vec<String>> {
    ON_INTERRUPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints the message below the line that shows how far the work was.
fn report_interrupt() {
    if let Some(message) = messages().last() {
        // The program ends here in any case.
        let _ = terminal().write_all(format!("\n{message}\n").as_bytes());
    }
}

/// How far one thread is; the line goes away with the value.
#[derive(Debug)]
pub(crate) struct Progress {
    total: usize,
    _work: Option<Work>,
    line: Option<Line<Stderr>>,
}

impl Progress {
    pub(super) fn new(
        what: &'static str,
        total: usize,
        pauses: Pauses,
        is_watched: bool,
        elsewhere: &Elsewhere,
    ) -> Self {
        // What changes something is waited for from its beginning.
        let pauses = Pauses { first: pauses.next, ..pauses };
        let list = in_home("rejoin undo --list", elsewhere);
        let message = match what {
            "Removing" | "Moving" => {
                format!("Stopped. `{list}` shows what was done; the next change repairs what was only begun.")
            }
            _ => "Stopped. What was written stays.".to_owned(),
        };
        let work = is_watched.then(|| Work::begin(message));
        Self { total, _work: work, line: is_watched.then(|| Line::new(what, pauses, terminal())) }
    }

    /// Shows how many are done.
    pub(crate) fn at(&mut self, done: usize) {
        if let Some(line) = &mut self.line {
            line.show(done, self.total);
        }
    }
}

/// How far threads are that tell the watcher; the line goes away with the value, whoever goes on telling.
#[derive(Debug)]
pub(crate) struct Showing {
    tally: Option<Arc<Tally<Stderr>>>,
    _work: Option<Work>,
}

impl Showing {
    pub(super) fn new(what: &'static str, pauses: Pauses, is_watched: bool) -> Self {
        let tally = is_watched.then(|| Arc::new(Tally::new(Line::new(what, pauses, terminal()))));
        Self { tally, _work: is_watched.then(|| Work::begin("Stopped.".to_owned())) }
    }

    /// Returns whom to tell.
    pub(crate) fn watcher(&self) -> Watcher {
        self.tally.as_ref().map(|tally| Watcher::new(Arc::<Tally<Stderr>>::clone(tally))).unwrap_or_default()
    }

    /// Takes the line away for good.
    pub(crate) fn end(&self) {
        if let Some(tally) = &self.tally {
            tally.end();
        }
    }

    /// Takes the line away until threads tell of more, so that something else can be said.
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

/// Counts what threads have done; who comes while another writes the line leaves that to it.
#[derive(Debug)]
struct Tally<W: Write> {
    total: AtomicUsize,
    done: AtomicUsize,
    /// Nothing once it has ended.
    line: Mutex<Option<Line<W>>>,
}

impl<W: Write> Tally<W> {
    fn new(line: Line<W>) -> Self {
        Self { total: AtomicUsize::new(0), done: AtomicUsize::new(0), line: Mutex::new(Some(line)) }
    }

    fn show(&self) {
        if let Ok(mut line) = self.line.try_lock()
            && let Some(line) = line.as_mut()
        {
            // Read with the lock held, so that what is shown never goes back.
            line.show(self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        }
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

impl<W: Write + Debug + Send> Watch for Tally<W> {
    fn turn_to(&self, what: &'static str) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = line.as_mut().filter(|line| line.what != what) {
            line.what = what;
            self.total.store(0, Ordering::Relaxed);
            self.done.store(0, Ordering::Relaxed);
        }
    }

    fn begin(&self, count: usize) {
        self.total.fetch_add(count, Ordering::Relaxed);
        self.show();
    }

    fn done(&self, count: usize) {
        self.done.fetch_add(count, Ordering::Relaxed);
        self.show();
    }
}

/// The line itself.
#[derive(Debug)]
struct Line<W: Write> {
    what: &'static str,
    /// How long nothing is shown from now on.
    pause: Duration,
    next: Duration,
    last: Instant,
    is_shown: bool,
    out: W,
}

impl<W: Write> Line<W> {
    fn new(what: &'static str, pauses: Pauses, out: W) -> Self {
        Self { what, pause: pauses.first, next: pauses.next, last: Instant::now(), is_shown: false, out }
    }

    fn show(&mut self, done: usize, total: usize) {
        if self.last.elapsed() >= self.pause {
            self.last = Instant::now();
            self.pause = self.next;
            self.is_shown = true;
            self.write(&line(self.what, done, total));
        }
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            self.write(ERASE);
        }
    }

    fn write(&mut self, text: &str) {
        // No one misses a line that cannot be shown.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        self.clear();
    }
}

fn line(what: &str, done: usize, total: usize) -> String {
    let done = done.min(total);
    let full = (done * WIDTH).checked_div(total).unwrap_or(0);
    format!("{ERASE}{what} [{}{}] {done}/{total}", "#".repeat(full), " ".repeat(WIDTH - full))
}

#[expect(clippy::disallowed_methods, reason = "ui writes to the terminal")]
fn terminal() -> Stderr {
    io::stderr()
}

#[cfg(test)]
mod tests {
    use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

    use super::*;

    const ALWAYS: Pauses = Pauses { first: Duration::ZERO, next: Duration::ZERO };

    /// What is written, which outlives the line.
    #[derive(Clone, Debug, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("what is written").clone()).expect("UTF-8")
        }

        /// Returns how many were done of how many, by line.
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

    fn tally(pauses: Pauses) -> (Tally<Paper>, Paper) {
        let paper = Paper::default();
        (Tally::new(Line::new("Reading", pauses, paper.clone())), paper)
    }

    #[test]
    fn the_bar_grows_with_what_is_done_and_never_beyond_its_end() {
        assert_eq!(line("Removing", 5, 10), format!("\r\x1b[KRemoving [{}{}] 5/10", "#".repeat(15), " ".repeat(15)));
        assert!(line("Removing", 11, 10).ends_with(&format!("[{}] 10/10", "#".repeat(WIDTH))));
        assert!(line("Removing", 0, 0).ends_with("0/0"));
    }

    #[test]
    fn threads_that_work_at_once_never_show_more_than_there_is_nor_less_than_before() {
        let (tally, paper) = tally(ALWAYS);
        for round in 1..=3 {
            tally.begin(1000);
            (0..1000).into_par_iter().for_each(|_| tally.done(1));
            let counts = paper.counts();
            assert!(counts.iter().all(|(done, total)| done <= total && *total <= round * 1000), "{counts:?}");
            assert!(counts.is_sorted() && counts.len() > round, "{counts:?}");
        }
        tally.done(0);
        assert_eq!(paper.counts().last(), Some(&(3000, 3000)));
    }

    #[test]
    fn nothing_is_shown_before_the_first_pause_is_over() {
        let (tally, paper) = tally(Pauses { first: Duration::MAX, ..ALWAYS });
        tally.begin(2);
        tally.done(2);
        tally.turn_to("Looking closer");
        tally.begin(1);
        tally.end();
        assert_eq!(paper.text(), "");
    }

    #[test]
    fn between_two_lines_is_the_other_pause() {
        let (tally, paper) = tally(Pauses { next: Duration::MAX, ..ALWAYS });
        tally.begin(2);
        tally.done(1);
        tally.done(1);
        assert_eq!(paper.counts(), [(0, 2)]);
    }

    #[test]
    fn the_line_is_gone_at_the_end_and_stays_so_whoever_goes_on_telling() {
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
    fn what_comes_next_has_a_count_of_its_own() {
        let (tally, paper) = tally(ALWAYS);
        tally.begin(1);
        tally.done(1);
        for total in [3, 6] {
            // What comes in several rounds adds up.
            tally.turn_to("Looking closer");
            tally.begin(3);
            tally.done(3);
            assert_eq!(paper.counts().last(), Some(&(total, total)));
        }
        let text = paper.text();
        assert_eq!((text.matches("Reading [").count(), text.matches("Looking closer [").count()), (2, 4), "{text:?}");
    }

    #[test]
    fn a_line_appears_sooner_where_something_is_changed_than_where_it_is_read() {
        let usual = Pauses::default();
        assert!(usual.first > usual.next);
        let progress = Progress::new("Removing", 1, usual, true, &Elsewhere::default());
        assert_eq!(progress.line.as_ref().map(|line| line.pause), Some(usual.next));
        let showing = Showing::new("Reading", usual, true);
        let line = showing.tally.as_ref().map(|tally| tally.line.lock().expect("a line"));
        assert_eq!(line.and_then(|line| Some(line.as_ref()?.pause)), Some(usual.first));
    }

    #[test]
    fn where_nobody_watches_nobody_is_told() {
        let showing = Showing::new("Reading", ALWAYS, false);
        assert_eq!(format!("{:?}", showing.watcher()), format!("{:?}", Watcher::default()));
    }

    #[test]
    fn what_else_is_said_finds_the_line_gone_and_it_comes_back_with_the_next_news() {
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
