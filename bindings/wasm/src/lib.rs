//! What JavaScript needs beside the C interface, which this module exports, too: memory for its arguments, files, rows
//! of table sets that come later, and the message of a panic.

mod files;
mod memory;
mod panic;
mod tables;
