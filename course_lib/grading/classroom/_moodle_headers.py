"""Los encabezados de la hoja de calificaciones de Moodle, en los idiomas que se leen."""

# Los encabezados, en el idioma de quien descarga la hoja: `recordid`, `lastmodifiedgrade`,
# `maxgrade`, `submissionteam` y `scale` de mod_assign, `grade` (después, `gradenoun`) y `fullname`
# del núcleo, y `pluginname` de assignfeedback_comments.
HEADERS = {
    "identifier": ("Identificador", "Identifier"),
    "name": ("Nombre completo", "Nombre", "Full name", "Nom complet", "Nom"),
    "grade": ("Calificación", "Grade", "Qualificació"),
    "maximum": ("Calificación máxima", "Maximum grade", "Qualificació màxima"),
    "modified": (
        "Última modificación (calificación)",
        "Last modified (grade)",
        "Darrera modificació (qualificació)",
    ),
    "comments": (
        "Comentarios de retroalimentación",
        "Feedback comments",
        "Comentaris de retroalimentació",
    ),
    "team": ("Grupo", "Group", "Grup"),
    "scale": ("Escala", "Scale"),
}

SPANISH = (
    "Identificador",
    "Nombre completo",
    "Calificación",
    "Calificación máxima",
    "Última modificación (calificación)",
    "Comentarios de retroalimentación",
)
