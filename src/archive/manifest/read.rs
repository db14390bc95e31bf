//! Parses a manifest, and refuses paths outside a store and invalid chunk names.

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};

use serde::Deserialize;

use super::{EntryContent, FORMAT_VERSION, KIND, Manifest, WITH_ROWS};
use crate::archive::chunks::is_digest;

impl Manifest {
    /// Parses a manifest; the error is the reason why it is unusable.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct ManifestHead {
            format_version: String,
            kind: String,
        }
        let head: ManifestHead = serde_json::from_slice(bytes).map_err(|_| "it is not a manifest".to_owned())?;
        if head.kind != KIND {
            return Err("it is not a manifest".to_owned());
        }
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if ![FORMAT_VERSION, WITH_ROWS].iter().any(|known| major(known) == major(&head.format_version)) {
            return Err(format!("its version is {}, which this rejoin does not know", head.format_version));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        manifest.check()?;
        Ok(manifest)
    }

    /// Refuses paths outside a store, and chunk names that are not digests.
    fn check(&self) -> Result<(), String> {
        let copies = self.copies.iter().map(|copy| (copy.store, &copy.path));
        for (store, path) in copies.chain(self.entries.iter().map(|entry| (entry.store, &entry.path))) {
            let is_below = path.components().all(|part| matches!(part, Component::Normal(_)));
            if store >= self.stores.len() || !is_below || path.as_os_str().is_empty() {
                return Err(format!("{} is not a path in a store", path.display()));
            }
        }
        if self.copies.is_empty() {
            return Err("it names no copy".to_owned());
        }
        if !self.files().flat_map(|(_, _, chunks)| chunks).all(|chunk| is_digest(chunk)) {
            return Err("the name of a chunk is not valid".to_owned());
        }
        // In this order, the paths below a path follow it directly.
        let nodes: BTreeMap<_, _> = self
            .entries
            .iter()
            .map(|entry| ((entry.store, &entry.path), matches!(entry.node, EntryContent::Dir)))
            .collect();
        if nodes.len() < self.entries.len() {
            return Err("it names a path twice".to_owned());
        }
        let mut leaf: Option<(usize, &PathBuf)> = None;
        for ((store, path), is_dir) in nodes {
            if leaf.is_some_and(|(other, above)| store == other && path.starts_with(above)) {
                // Below a link, a path could be anywhere.
                return Err(format!("{} is below something that is not a directory", path.display()));
            }
            leaf = (!is_dir).then_some((store, path));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::ManifestEntry;
    use super::super::tests::manifest;
    use super::*;

    #[test]
    fn manifest_refuses_unsafe_paths_and_chunk_names() {
        let refused = |change: &dyn Fn(&mut Manifest)| {
            let mut manifest = manifest("a");
            change(&mut manifest);
            Manifest::parse(&serde_json::to_vec(&manifest).expect("JSON")).expect_err("a refusal")
        };
        for path in ["/etc/passwd", "../x", "a/../../x", "", "./x"] {
            assert!(
                refused(&|manifest| manifest.entries[0].path = path.into()).contains("not a path in a store"),
                "{path}"
            );
            assert!(
                refused(&|manifest| manifest.copies[0].path = path.into()).contains("not a path in a store"),
                "{path}"
            );
        }
        assert!(refused(&|manifest| manifest.entries[0].store = 1).contains("not a path in a store"));
        assert!(refused(&|manifest| manifest.copies.clear()).contains("no copy"));
        let odd_chunk = |manifest: &mut Manifest| {
            manifest.entries[0].node =
                EntryContent::File { size: 1, sha256: "../x".to_owned(), chunks: vec!["../x".to_owned()] };
        };
        assert!(refused(&odd_chunk).contains("chunk"));
        assert!(refused(&|manifest| manifest.entries.push(manifest.entries[0].clone())).contains("twice"));
        let below = |node: EntryContent| {
            refused(&|manifest| {
                let entry = |path: &str, node| ManifestEntry { path: path.into(), node, ..manifest.entries[0].clone() };
                let new = [
                    entry("a/link/x/y", EntryContent::Dir),
                    entry("a/link", node.clone()),
                    entry("a/link-2", EntryContent::Dir),
                ];
                manifest.entries.extend(new);
            })
        };
        for node in [EntryContent::Link { target: "/etc".into() }, manifest("a").entries[0].node.clone()] {
            assert_eq!(below(node), "a/link/x/y is below something that is not a directory");
        }
        assert!(refused(&|manifest| manifest.format_version = "3.0".to_owned()).contains("version is 3.0"));
        assert!(refused(&|manifest| manifest.kind = "other".to_owned()).contains("not a manifest"));
    }
}
