//! Reports a bug in rejoin: as one error like any other, on the restored terminal.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::panic;

use crate::error::Exit;
use crate::format::text;
use crate::system::terminal;

/// Installs a panic hook that ends the program with one clear error, in any thread.
///
/// The process exits without unwinding. The journal recovers an interrupted run, as after a kill; only the terminal
/// must be restored here.
#[expect(clippy::disallowed_methods, reason = "no caller can return what a thread that panics leaves behind")]
pub(crate) fn tell_of_bugs() {
    panic::set_hook(Box::new(|bug| {
        terminal::leave_screen();
        let why = bug.payload_as_str().map_or(Cow::Borrowed("no reason given"), Cow::Borrowed);
        let at = bug.location().map(ToString::to_string).unwrap_or_else(|| "an unknown place".to_string());
        let mut err = io::stderr().lock();
        // A progress line may be on the current line.
        let clean = if err.is_terminal() { "\r\x1b[K" } else { "" };
        let _ = err.write_all(format!("{clean}{}", words(&why, &at)).as_bytes());
        std::process::exit(Exit::Bug.code().into());
    }));
}

/// Returns the error for a panic at a location in the sources.
fn words(why: &str, at: impl Display) -> String {
    format!(
        "error: a bug in rejoin ended it: {} ({at})\n\
         hint: no conversation is lost by that, and `rejoin doctor` names what was left half done; please report it, with what \
         you typed and the version, {}\n",
        // The message may contain foreign text.
        text::one_line(why),
        env!("CARGO_PKG_VERSION"),
    )
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a process is told by a variable that it is the one with the bug")]
mod tests {
    use std::io::Read as _;

    use pty_process::blocking::{Command, open};
    use rustix::termios::{LocalModes, tcgetattr};

    use super::*;
    use crate::system::terminal::Screen;

    /// Set in the process that panics, which runs only one test.
    const HERE: &str = "REJOIN_TEST_OF_A_BUG";

    #[test]
    fn panic_restores_terminal_and_prints_one_error() {
        if std::env::var_os(HERE).is_some() {
            tell_of_bugs();
            let _screen = Screen::enter_raw_mode().expect("a terminal");
            std::thread::spawn(|| panic!("two and \x1b[31mtwo\nare five")).join().expect("not reached");
        }
        let (mut pty, other_end) = open().expect("a terminal");
        let kept = rustix::io::dup(&pty).expect("the terminal");
        let program = std::env::current_exe().expect("this program");
        let name = "view::ui::bug::tests::panic_restores_terminal_and_prints_one_error";
        let mut child = Command::new(program)
            .args(["--exact", name, "--nocapture", "--test-threads=1"])
            .env(HERE, "1")
            .spawn(other_end)
            .expect("a running program");
        let mut shown = Vec::new();
        // Linux reports the end of a terminal's output as an error.
        let _ = pty.read_to_end(&mut shown);
        let shown = String::from_utf8_lossy(&shown);
        let status = child.wait().expect("an end");
        assert_eq!(status.code(), Some(101), "{shown}");
        assert!(shown.contains("\x1b[?1000h") && shown.contains("\x1b[?1006l\x1b[?1000l"), "{shown}");
        let (_, after) = shown.rsplit_once("\x1b[?1049l").expect("the usual screen");
        assert!(
            after.starts_with(
                "\r\x1b[Kerror: a bug in rejoin ended it: two and \\u{1b}[31mtwo are five (src/view/ui/bug.rs:"
            ),
            "{after}"
        );
        assert_eq!(after.lines().count(), 2, "{after}");
        assert!(tcgetattr(&kept).expect("settings").local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}
