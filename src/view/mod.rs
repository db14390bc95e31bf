//! Output and input for users and scripts: answers (`render`), tables (`grid`), the picker, and the streams (`ui`).

pub(crate) mod grid;
pub(crate) mod pick;
pub(crate) mod render;
pub(crate) mod ui;
