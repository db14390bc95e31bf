//! Reads facts about a session from the records of its file, for each program that writes such records.

use memchr::memmem;

use crate::agent::ids::is_word;
use crate::agent::lines::{Ends, Log};
use crate::agent::pi::records::{PiRecord, id_of_file};
use crate::agent::prelude::*;
use crate::agent::tree::Links;
use crate::session::branches::Branches;

/// The differences between the programs that write Pi's records.
pub(in crate::agent) trait Dialect: Sync + 'static {
    /// The program's name.
    const NAME: &'static str;
    /// Set if a title record precedes the header.
    const HAS_TITLE_LINE: bool;
    /// The note for a file without a header.
    const HEADLESS: &'static str;
    /// The agent's command that opens the inactive branches of a session.
    const BRANCHES: &'static str;

    /// Finds every copy in a store, or every copy of one full id.
    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found;

    /// Returns the id in the name of a session's file; `None` for another file.
    fn id_of_file(name: &str) -> Option<&str> {
        id_of_file(name)
    }
}

/// Facts from the records for which a copy has no member.
#[derive(Default)]
pub(in crate::agent) struct PiFacts {
    has_header: bool,
    /// Set if a line other than a title line was seen.
    has_body: bool,
    /// The last name; empty if it was removed.
    name: Option<String>,
    links: Links,
}

/// The log of Pi or a fork of it: a header, then a tree of records.
pub(in crate::agent) struct PiTree<D>(pub D);

impl<D: Dialect> Log for PiTree<D> {
    type Record<'a> = PiRecord<'a>;
    type Facts = PiFacts;

    const HAS_BRANCHES: bool = true;
    const WAY_TO_BRANCHES: Option<&'static str> = Some(D::BRANCHES);

    fn locate(store: &Arc<Store>, only: Option<&str>) -> Found {
        D::locate(store, only)
    }

    fn parse(line: &[u8]) -> Option<PiRecord<'_>> {
        PiRecord::parse(line)
    }

    fn divide(line: usize, record: Option<&PiRecord<'_>>, facts: &mut PiFacts) {
        facts.links.add(line, record.map(PiRecord::link));
    }

    fn branches(facts: &PiFacts, lines: usize) -> Branches {
        facts.links.branches(lines)
    }

    fn see_from_start(record: &PiRecord<'_>, number: usize, copy: &mut SessionCopy, facts: &mut PiFacts) {
        if let Some(title) = record.title_line().filter(|_| number == 0 && D::HAS_TITLE_LINE) {
            facts.name = Some(title.to_owned());
            return;
        }
        let is_first = number == 0 || number == 1 && D::HAS_TITLE_LINE && facts.name.is_some();
        facts.has_body = true;
        if is_first && record.is_header() {
            facts.has_header = true;
            note_header::<D>(record, copy);
        }
    }

    fn see_from_end(record: &PiRecord<'_>, copy: &mut SessionCopy, facts: &mut PiFacts) {
        facts.name = facts.name.take().or_else(|| record.session_name().map(str::to_owned));
        copy.model = copy.model.take().or_else(|| Some(Fact::new(record.model()?, "transcript")));
    }

    fn knows_end(copy: &SessionCopy, facts: &PiFacts) -> bool {
        facts.name.is_some() && copy.model.is_some()
    }

    fn matters_at_end(line: &[u8], copy: &SessionCopy, _facts: &PiFacts) -> bool {
        // Most sessions have no name.
        copy.model.is_none() || memmem::find(line, b"session_info").is_some()
    }

    fn finish(
        copy: &mut SessionCopy,
        ends: &Ends,
        facts: PiFacts,
        _context: &ReadContext<'_>,
    ) -> Result<(), PathError> {
        if !facts.has_header && (facts.has_body || ends.is_headless == Some(true) || ends.is_whole) {
            copy.health.insert(Health::InvalidContent);
            copy.notes.push(D::HEADLESS.to_owned());
        }
        let source = if D::HAS_TITLE_LINE { "title" } else { "session_info" };
        copy.title = facts.name.filter(|name| !name.is_empty()).map(|name| Fact::new(name, source));
        Ok(())
    }

    fn see_counted(record: &PiRecord<'_>, copy: &mut SessionCopy) {
        // A record between the two ends may contain a name.
        if let Some(name) = record.session_name() {
            let name = Some(name).filter(|name| !name.is_empty());
            copy.title = name.map(|name| Fact::new(name.to_owned(), "session_info"));
        }
    }
}

fn note_header<D: Dialect>(header: &PiRecord<'_>, copy: &mut SessionCopy) {
    let id = header.id.get().unwrap_or_default();
    if id != copy.place.id {
        copy.health.insert(Health::InvalidContent);
        let name = D::NAME;
        copy.notes.push(format!("its header says that its id is {id}, and {name} knows it only by that id"));
    }
    copy.created_at = header.time().map(|at| Fact::new(at, "header"));
    if let Some(dir) = header.cwd.filled().and_then(recorded::dir) {
        copy.start_dir = Some(Fact::new(dir.clone(), "header"));
        copy.last_dir = copy.start_dir.clone();
        let counts = counts(&copy.place, &dir);
        copy.evidence.push(Evidence { dir, source: "header", detail: "its header".into(), counts });
    }
    let Some(forked_from) = header.parent_session.filled() else { return };
    if copy.kind == SessionKind::Main {
        copy.kind = SessionKind::Fork;
    }
    // The parent is a path or an id. The home may have moved since, so only the file name of a path counts.
    let of_path = Path::new(forked_from).file_name().and_then(|name| D::id_of_file(name.to_str()?));
    let parent = of_path.or(Some(forked_from).filter(|id| D::HAS_TITLE_LINE && is_word(id)));
    copy.parent_id = parent.map(str::to_owned).or_else(|| copy.parent_id.take());
}
