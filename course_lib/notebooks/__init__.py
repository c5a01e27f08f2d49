"""Los cuadernos: leer la fuente, ejecutarla, saber de qué depende y escribirlos."""
