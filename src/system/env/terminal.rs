//! The terminal: its size, its colours, and which standard streams are connected to it.

use std::ffi::OsStr;
use std::io::IsTerminal as _;

use rustix::termios::Winsize;

use super::{Variables, value};

/// The width of the screen that shows the answer although standard output is a pipe, as with `--host`.
pub(crate) const COLUMNS: &str = "REJOIN_COLUMNS";

/// Requests colours although standard output is a pipe, as in many other programs.
pub(crate) const FORCE_COLORS: &str = "CLICOLOR_FORCE";

/// Set if the user can answer questions although no stream is a terminal, as with `--host`.
pub(crate) const ASKED: &str = "REJOIN_ASKED";

/// Width in columns of an answer that is not for a terminal.
const DEFAULT_WIDTH: u16 = 120;

/// The terminal of a run, or the one on another host that shows its output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Terminal {
    /// The width in columns of the terminal on standard output, or of the one behind it according to [`COLUMNS`].
    pub width: Option<u16>,
    /// The height in lines, if standard output is a terminal.
    pub height: Option<u16>,
    /// The width in columns of the terminal on standard error.
    pub err_width: Option<u16>,
    /// Set if standard input is a terminal, or if [`ASKED`] says so.
    pub stdin: bool,
    /// Set if standard output is a terminal, or leads to one according to [`COLUMNS`].
    pub stdout: bool,
    /// Set if standard error is a terminal, or if [`ASKED`] says so.
    pub stderr: bool,
    /// Set if the terminal can neither move its cursor nor show colours.
    pub is_dumb: bool,
    /// The request of the environment for or against colours; `None` if each stream that is a terminal has them.
    pub colors: Option<bool>,
}

impl Terminal {
    /// Reads the sizes and kinds of the standard streams of this process.
    #[expect(clippy::disallowed_methods, reason = "it only checks the kinds of the streams")]
    pub(super) fn read(variables: &Variables) -> Self {
        let (stdin, stdout, stderr) = (std::io::stdin(), std::io::stdout(), std::io::stderr());
        let size = rustix::termios::tcgetwinsize(&stdout).ok();
        let is_terminal = [stdin.is_terminal(), stdout.is_terminal(), stderr.is_terminal()];
        Self::with_sizes(variables, size, rustix::termios::tcgetwinsize(stderr).ok(), is_terminal)
    }

    /// Reads the variables of a run without a terminal.
    pub(super) fn none(variables: &Variables) -> Self {
        Self::with_sizes(variables, None, None, [false; 3])
    }

    fn with_sizes(
        variables: &Variables,
        size: Option<Winsize>,
        err_size: Option<Winsize>,
        [stdin, stdout, stderr]: [bool; 3],
    ) -> Self {
        let columns = value(variables, COLUMNS).and_then(|columns| columns.to_str()?.parse().ok());
        let is_asked = variables.contains_key(OsStr::new(ASKED));
        let is_forced = value(variables, FORCE_COLORS).is_some_and(|value| value != "0");
        let is_dumb = value(variables, "TERM").is_none_or(|term| term == "dumb");
        Self {
            width: columns.or(size.map(|size| size.ws_col)).filter(|width| *width > 0),
            err_width: err_size.map(|size| size.ws_col).filter(|width| *width > 0),
            height: size.map(|size| size.ws_row).filter(|height| *height > 0),
            stdin: stdin || is_asked,
            stdout: stdout || columns.is_some(),
            stderr: stderr || is_asked,
            colors: match value(variables, "NO_COLOR") {
                Some(_) => Some(false),
                None if is_forced => Some(true),
                None => is_dumb.then_some(false),
            },
            is_dumb,
        }
    }

    /// Returns whether the user can be asked on standard error and can answer on standard input.
    pub(crate) fn can_ask(&self) -> bool {
        self.stdin && self.stderr
    }

    /// Returns the maximum width of an answer.
    pub(crate) fn columns(&self) -> usize {
        self.width.unwrap_or(DEFAULT_WIDTH).into()
    }

    /// Returns the width that a text is cut to; in a pipe, texts are not cut.
    pub(crate) fn room(&self, most: usize) -> usize {
        if self.stdout { most } else { usize::MAX }
    }

    /// Returns the width of the screen that shows the answer.
    pub(crate) fn screen_width(&self) -> Option<u16> {
        self.width.filter(|_| self.stdout)
    }
}
