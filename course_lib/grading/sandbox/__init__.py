"""La caja: el proceso en que se ejecuta código ajeno, lo que ve, lo que puede y lo que cruza."""
