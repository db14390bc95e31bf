//! The check of an archive, and the damage that it found.

use std::collections::BTreeSet;
use std::io::{self, Write};

use serde::Serialize;

use crate::archive::verify::Verdict;
use crate::format::command_line::in_home;
use crate::format::text;
use crate::system::env::Env;
use crate::view::render::answer::Answer;
use crate::view::ui::Styles;

impl Answer for Verdict {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("archive-verify", self)
    }

    /// Writes the damaged files, and a summary.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let Styles { warning, faint, .. } = styles;
        for fault in &self.faults {
            let path = env.tilde(&fault.path);
            let (code, reason) = (fault.kind.name(), text::one_line(&fault.reason));
            writeln!(out, "{warning}{code}{warning:#}  {}  {reason}", text::one_line(&path))?;
            for hurt in &fault.hurt {
                let (id, path) = (text::one_line(&hurt.id), env.tilde(&hurt.path));
                writeln!(
                    out,
                    "      {faint}{} {id}, state {}: {}{faint:#}",
                    hurt.agent,
                    hurt.number,
                    text::one_line(&path)
                )?;
            }
        }
        let hurt: BTreeSet<_> = self.faults.iter().flat_map(|fault| &fault.hurt).map(|at| (at.agent, &at.id)).collect();
        for (agent, id) in hurt {
            let id = text::one_line(id);
            let command = format!("rejoin archive --full {agent}:{id}");
            let command = in_home(&command, &env.invocation.elsewhere);
            writeln!(out, "{faint}`{command}` repairs what that session still has.{faint:#}")?;
        }
        let Self { archive, sessions, snapshots: states, blobs, stored_bytes, unneeded, .. } = self;
        let verdict = match self.faults.len() {
            0 => "no damage found".to_owned(),
            faults => text::count(faults, "fault"),
        };
        let dir = env.tilde(archive);
        let size = text::size(*stored_bytes);
        writeln!(
            out,
            "{} in {}, {}, {size} in {}: {verdict}.",
            text::count(*sessions, "session"),
            text::count(*states, "state"),
            text::count(*blobs, "blob"),
            text::one_line(&dir)
        )?;
        if *unneeded > 0 {
            let files = text::count(*unneeded, "unneeded file");
            writeln!(out, "{faint}The next `rejoin archive` removes {files}.{faint:#}")?;
        }
        Ok(())
    }
}
