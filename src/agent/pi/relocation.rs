//! What Pi needs to find a session from another directory: the directory in its header, and the file in that directory's
//! project.
//!
//! Measured on 0.87.1: the header decides, and from any other directory Pi asks to fork. What a fork says of the file that
//! it came from is left as it is; Pi only draws it.

use crate::agent::pi::records::{Record, slug};
use crate::agent::relocation::{Act, Moved, Relocation, text};
use crate::format::edit::json_string;
use crate::format::jsonl::Jsonl;
use crate::session::Store;

pub(super) fn relocation(store: &Store) -> Relocation<'_> {
    Relocation::of_each(|copy, to| {
        let (place, to) = (&copy.place, text(to)?);
        let mut edit = None;
        let mut file = Jsonl::open(&place.path).map_err(|error| error.to_string())?;
        file.lines_forward(|line| {
            let is_header = Record::parse(line).is_some_and(|record| record.is_header());
            let line = str::from_utf8(line).ok().filter(|_| is_header);
            edit = line.and_then(|line| json_string(line, &["cwd"], |_| Some(to.to_owned())));
            true
        })
        .map_err(|error| error.to_string())?;
        let edit = edit.ok_or("its first line is not a header that names a directory")?;
        let target = match (&place.project, place.path.file_name()) {
            (Some(_), Some(name)) => store.root.join(slug(to)).join(name),
            _ => place.path.to_path_buf(),
        };
        Ok(Moved::by(vec![Act::Edit { from: place.path.to_path_buf(), to: target, edits: vec![edit] }]))
    })
}
