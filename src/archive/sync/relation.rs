//! The relation of two states of a session: the same, one a continuation of the other, or continued separately.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::content::{self, ContentOrder, ReadableContent};
use super::state::{SessionState, StatePiece};
use crate::agent::Agent;
use crate::archive::coverage::file_digest;
use crate::archive::{Archive, MachineDir, rows};
use crate::format::compare::{compare_by, compare_lists};
use crate::session::mapping::Mapping;
use crate::session::{Comparison, Located, Role, SessionCopy};
use crate::system::env::Env;

/// The relation of one state of a session to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    /// The two states have the same content.
    Same,
    /// The first one has everything that the second one has, and more.
    Ahead,
    /// The second one continues the first one.
    Behind(Behind),
    /// Each has data that the other one lacks; the reason.
    Diverged(String),
}

/// A state that another one continues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind {
    /// Files that are newer in the other state.
    pub(crate) replaced: BTreeSet<PathBuf>,
    /// Set if this state has files that the other one lacks; they are kept.
    pub(crate) has_more: bool,
}

/// Compares states of one session.
pub(crate) struct Relate<'a> {
    pub(crate) agent: &'a dyn Agent,
    /// The place of the session on this machine.
    pub(crate) place: &'a Located,
    pub(crate) archive: &'a Archive,
    pub(crate) env: &'a Env,
    /// Directories of other machines, mapped to those on this machine.
    pub(crate) mapping: &'a Mapping,
    /// Checks whether some archived state has a file with this SHA-256.
    pub(crate) is_archived: &'a dyn Fn(&str) -> bool,
}

impl Relate<'_> {
    /// Compares a state with another one.
    ///
    /// # Errors
    ///
    /// A file cannot be read, or the archive lacks something of one of the states.
    pub(crate) fn relate(&self, ours: &SessionState<'_>, theirs: &SessionState<'_>) -> Result<Relation, String> {
        let is_behind = match self.conversation(ours, theirs)? {
            ContentOrder::Differs => return Ok(Relation::Diverged("it was continued separately".to_owned())),
            ContentOrder::Longer => return Ok(Relation::Ahead),
            ContentOrder::Shorter => true,
            ContentOrder::Same => false,
        };
        let written = self.agent.written(self.place);
        let mut behind = Behind::default();
        let mut they_have_more = theirs.files().any(|path| !ours.pieces.contains_key(path));
        for (path, our) in &ours.pieces {
            let Some(their) = theirs.pieces.get(path) else {
                behind.has_more |= matches!(our, StatePiece::File(_));
                continue;
            };
            let order = self.file(our, their)?;
            // The whole conversation was compared, and no two saves write equal state files.
            let is_newer = *path == ours.path || written.contains(path) || self.is_state(path);
            match order {
                ContentOrder::Same => {}
                ContentOrder::Shorter => {
                    they_have_more |= !is_newer;
                    if is_behind || !is_newer {
                        behind.replaced.insert(path.clone());
                    }
                }
                _ if is_newer => {
                    if is_behind {
                        behind.replaced.insert(path.clone());
                    }
                }
                _ if !is_behind => behind.has_more = true,
                ContentOrder::Differs if self.is_archived(path, our) => {
                    behind.replaced.insert(path.clone());
                }
                _ => return Ok(Relation::Diverged(format!("{} was changed separately", self.env.tilde(path)))),
            }
        }
        Ok(match behind {
            behind if is_behind || they_have_more => Relation::Behind(behind),
            Behind { has_more: true, .. } => Relation::Ahead,
            _ => Relation::Same,
        })
    }

    /// Returns whether two states have the same entries.
    fn is_same(&self, ours: &SessionState<'_>, theirs: &SessionState<'_>) -> Result<bool, String> {
        if !ours.pieces.keys().eq(theirs.pieces.keys()) {
            return Ok(false);
        }
        for (our, their) in ours.pieces.values().zip(theirs.pieces.values()) {
            if self.file(our, their)? != ContentOrder::Same {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Compares the conversations: as bytes if one begins with the other, else record by record.
    fn conversation(&self, ours: &SessionState<'_>, theirs: &SessionState<'_>) -> Result<ContentOrder, String> {
        let kinds = [ours, theirs].map(|state| state.pieces.get(&state.path));
        match kinds {
            [Some(StatePiece::File(our)), Some(StatePiece::File(their))] => {
                let order = content::compare(our, their, self.mapping)?;
                // A record that rejoin added when it moved a session is not a continuation.
                if order == ContentOrder::Same
                    || (order != ContentOrder::Differs && self.agent.about().is_move_record.is_none())
                {
                    return Ok(order);
                }
            }
            [Some(StatePiece::Rows(Some(our))), Some(StatePiece::Rows(Some(their)))] => {
                let is_within = |(old, sha256, chunks): &(MachineDir, &str, &[String]),
                                 new: &(MachineDir, &str, &[String])| {
                    rows::are_within((old, (sha256, chunks)), (&new.0, (new.1, new.2)))
                };
                match (is_within(our, their), is_within(their, our)) {
                    (true, true) => return Ok(ContentOrder::Same),
                    (true, false) => return Ok(ContentOrder::Shorter),
                    (false, true) => return Ok(ContentOrder::Longer),
                    (false, false) => {}
                }
            }
            _ => {}
        }
        let compared = ours.with_copy(self.archive, self.env, |our| {
            theirs.with_copy(self.archive, self.env, |their| self.records(our, their))
        })??;
        let Some(compared) = compared else {
            let is_same = self.is_same(ours, theirs)?;
            return if is_same { Ok(ContentOrder::Same) } else { Err("its states cannot be compared".to_owned()) };
        };
        Ok(match compared {
            Comparison::Identical => ContentOrder::Same,
            Comparison::Longer { .. } => ContentOrder::Longer,
            Comparison::Shorter { .. } => ContentOrder::Shorter,
            Comparison::Diverged { .. } => ContentOrder::Differs,
        })
    }

    /// Compares record by record. Some agents write the directory into each record, which a move changes.
    fn records(&self, our: &SessionCopy, their: &SessionCopy) -> Option<Comparison> {
        let transcripts = self.agent.transcript(&our.place).zip(self.agent.transcript(&their.place));
        let is_same =
            |our: &[u8], their: &[u8]| our == their || self.mapping.in_text(our) == self.mapping.in_text(their);
        let is_moved = self.agent.about().is_move_record;
        let of_lines = transcripts.and_then(|(our, their)| compare_by(&our, &their, is_same, is_moved).ok());
        match of_lines {
            Some(Comparison::Diverged { .. }) | None => {
                self.agent.compare(our, their).or_else(|| self.messages(our, their))
            }
            of_lines => of_lines,
        }
    }

    /// Compares the messages of two copies in databases: rows that came through an export and an import differ in times
    /// and numbers.
    fn messages(&self, our: &SessionCopy, their: &SessionCopy) -> Option<Comparison> {
        self.agent.agent_managed(&our.place)?;
        let messages = |copy: &SessionCopy| -> Option<Vec<(Role, Vec<u8>)>> {
            let mut messages = Vec::new();
            let read = self.agent.messages(copy, &mut |message| {
                messages.push((message.role, self.mapping.in_text(message.text.as_bytes())));
                std::ops::ControlFlow::Continue(())
            });
            read.ok().map(|()| messages)
        };
        Some(compare_lists(&messages(our)?, &messages(their)?))
    }

    fn file(&self, our: &StatePiece<'_>, their: &StatePiece<'_>) -> Result<ContentOrder, String> {
        Ok(match (our, their) {
            // Rows were compared as a conversation.
            (StatePiece::Dir, StatePiece::Dir) | (StatePiece::Rows(_), StatePiece::Rows(_)) => ContentOrder::Same,
            (StatePiece::Link(our), StatePiece::Link(their)) if self.here(our) == self.here(their) => {
                ContentOrder::Same
            }
            (StatePiece::File(our), StatePiece::File(their)) => content::compare(our, their, self.mapping)?,
            _ => ContentOrder::Differs,
        })
    }

    /// Maps a directory of any machine to this machine.
    fn here(&self, dir: &Path) -> PathBuf {
        self.mapping.new_location(dir).unwrap_or_else(|| dir.to_owned())
    }

    /// Checks whether the agent rewrites a file with every save.
    fn is_state(&self, path: &Path) -> bool {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| (self.agent.about().is_state)(name))
    }

    /// Checks whether the archive has exactly this content of a file, so that replacing it loses nothing.
    fn is_archived(&self, path: &Path, kind: &StatePiece<'_>) -> bool {
        match kind {
            StatePiece::File(ReadableContent::OnDisk(_)) => {
                file_digest(path).is_ok_and(|(_, sha256)| (self.is_archived)(&sha256))
            }
            StatePiece::File(ReadableContent::Archived(..)) => true,
            _ => false,
        }
    }
}
