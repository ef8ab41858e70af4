"""Values that everything else reasons about, and their algebra. They read nothing and know no other part."""
