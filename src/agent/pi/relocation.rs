//! The changes that let Pi find a session from another directory: the header names that directory, and the file moves
//! to the directory's project.
//!
//! Measured on 0.87.1 and 1.5.2: the header decides, and in any other directory Pi asks whether to fork. The path of
//! the parent in a fork's header is not changed; Pi only displays it.

use crate::agent::pi::records::PiRecord;
use crate::agent::prelude::*;
use crate::agent::relocation::text;
use crate::format::edit::{Edit, json_string};
use crate::format::jsonl::Jsonl;

/// Plans the move of each session; `project_of` returns the project name of a directory, `along` the files that share
/// the name of a session's file.
pub(in crate::agent) fn relocation<'a>(
    project_of: impl Fn(&str) -> String + Sync + 'a,
    along: fn(&Path) -> Vec<PathBuf>,
) -> Relocation<'a> {
    Relocation::of_each(move |copy, to| {
        let (place, to) = (&copy.place, text(to)?);
        let edit = header_edit(&place.path, to)?;
        let edit = edit.ok_or("it does not begin with a header that names a directory")?;
        let project = place.project.as_ref().map(|_| project_of(to));
        let sessions = |path: &Path| path.ancestors().nth(2).unwrap_or(path).to_owned();
        let target = match (project, place.path.file_name()) {
            (Some(project), Some(name)) => sessions(&place.path).join(project).join(name),
            _ => place.path.to_path_buf(),
        };
        // The folder next to it is found by its name.
        let side_dir = place.side_dir.clone().filter(|_| target != *place.path);
        let side = side_dir.map(|from| Act::Move { to: target.with_extension(""), from });
        let along = if target == *place.path { Vec::new() } else { along(&place.path) };
        let along = along
            .into_iter()
            .map(|from| Act::Move { to: target.with_file_name(from.file_name().unwrap_or_default()), from });
        let along: Vec<Act> = along.collect();
        let edit = Act::Edit { from: place.path.to_path_buf(), to: target, edits: vec![edit] };
        Ok(Moved::by(side.into_iter().chain(along).chain([edit]).collect()))
    })
}

/// Returns the edit that replaces the directory in the header of a file; a line with the title may precede the header.
fn header_edit(path: &Path, to: &str) -> Result<Option<Edit>, PathError> {
    let mut lines = Jsonl::open(path)?.into_lines()?;
    while let Some(line) = lines.next_line()? {
        let record = PiRecord::parse(line.bytes);
        if record.as_ref().is_some_and(|record| record.title_line().is_some()) {
            continue;
        }
        let text = str::from_utf8(line.bytes).ok().filter(|_| record.is_some_and(|record| record.is_header()));
        let edit = text.and_then(|text| json_string(text, &["cwd"], &|_| Some(to.to_owned())));
        return Ok(edit.map(|edit| line.edit(edit)));
    }
    Ok(None)
}
