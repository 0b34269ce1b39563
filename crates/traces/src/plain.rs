//! CSV formats with a time and two lengths: Azure (<https://github.com/Azure/AzurePublicDataset>),
//! BurstGPT (<https://github.com/HPMLL/BurstGPT>), Vidur (<https://github.com/microsoft/vidur>) and the
//! Splitwise simulator (<https://github.com/Mutinifni/splitwise-sim>).

use rooflut::sim::Request;
use rooflut_error::Error;

use crate::cell::{time_ns, tokens, unix_ns, whole};
use crate::error::value;
use crate::format::Format;
use crate::left_out::LeftOut;
use crate::table::{Columns, Entry, Header, Row};
use crate::unit::Unit;

/// The columns of such a format, each with its index.
pub(crate) struct PlainColumns {
    format: Format,
    time: Column,
    prompt: Column,
    output: Column,
    images: Option<Column>,
    batch: Option<Column>,
}

type Column = (&'static str, usize);

impl PlainColumns {
    pub(crate) fn find(format: Format, header: &Header<'_>) -> Result<PlainColumns, Error> {
        let mut required = [("", 0); 3];
        for (column, name) in required.iter_mut().zip(format.required()) {
            *column = (*name, header.required(format, name)?);
        }
        let optional = |wanted, name| {
            let position = header.position(name).filter(|_| format == wanted);
            position.map(|position| (name, position))
        };
        let [time, prompt, output] = required;
        Ok(PlainColumns {
            format,
            time,
            prompt,
            output,
            images: optional(Format::Azure, "NumImages"),
            batch: optional(Format::Splitwise, "batch_size"),
        })
    }
}

impl Columns for PlainColumns {
    fn entry(&mut self, row: &Row<'_>) -> Result<Entry, Error> {
        let read = |(name, position)| (name, row.cell(position));
        let (name, time) = read(self.time);
        let arrival_ns = match self.format {
            Format::Azure => unix_ns(name, time),
            _ => time_ns(name, time, Unit::Seconds),
        }?;
        let count = |column| {
            let (name, text) = read(column);
            tokens(name, text)
        };
        let request = Request::new(count(self.prompt)?, count(self.output)?).at_ns(arrival_ns);
        if self.format == Format::BurstGpt && request.output_tokens == 0 {
            return Ok(Entry::LeftOut(LeftOut::NoResponse));
        }
        if let Some((name, text)) = self.batch.map(read)
            && whole(name, text)? != 1
        {
            return Err(value(name, "1", text));
        }
        let images = match self.images.map(read) {
            Some((name, text)) => whole(name, text)?,
            None => 0,
        };
        Ok(match images {
            0 => Entry::Request(request),
            _ => Entry::WithImages(request),
        })
    }
}
